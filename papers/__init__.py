"""Reproductions of papers on matchmaking: their statements beside computed and simulated figures.

    python -m papers schlup --quick --out schlup
    evenmatch reproduce schlup --quick --out schlup

The two commands are the same. A paper has a package of its own: `schlup`, `gamedev`, `galactron`,
`wu` and `xu`. Its module `source` lists the statements of the paper and the parts that check them;
every part can be repeated by itself, and gives rows: figures as printed, exact and simulated.

- `reproduction` runs the parts of a paper, and collects their results;
- `shared` has the types of rows and parts, settings, sequences of players, means with intervals;
- `statements` turns rows into a verdict on each statement, with the reason in words;
- `report` writes the folder of `--out`, and `command` implements the two commands;
- `studies` holds work outside the papers: policies on streams, forecasts of rating systems.

This is evidence, not product: papers may import all of evenmatch, no module of evenmatch imports
papers except the command that runs them, and the wheel does not contain them.
"""

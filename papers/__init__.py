"""Papers on matchmaking, done again: what they state beside what is computed and simulated.

    python -m papers schlup --quick --out schlup
    evenmatch reproduce schlup --quick --out schlup

The two commands are one. A paper has a package of its own: `schlup`, `gamedev`, `galactron`, `wu`
and `xu`. Its module `source` says what the paper states and which parts check it; every part is
work that can be repeated by itself, and comes to rows: figures as printed, exact and simulated.

- `reproduction` does the parts of a paper, and gathers what they come to;
- `shared` has rows and parts as types, settings, sequences of players, and means with intervals;
- `statements` turns rows into a verdict on each statement, with the reason in words;
- `report` writes the folder of `--out`, and `command` is what the two commands run;
- `studies` has what belongs to no paper: policies on streams, forecasts of rating systems.

This is evidence, not product: papers may import all of evenmatch, no module of evenmatch imports
papers but the command that runs them, and the wheel does not have them.
"""

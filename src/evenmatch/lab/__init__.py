"""What people use to choose and judge rules: simulations, studies, proofs, replays, advice.

`simulate` plays a scenario. `solve` divides a batch, `optimum` says what a run could have cost,
`study` runs many, `report` draws them, `replay` and `export` read journals, and `advise` counts
players. May import everything below it. Never imports the server, the client or the command line;
it returns values and leaves printing to `cli`.
"""

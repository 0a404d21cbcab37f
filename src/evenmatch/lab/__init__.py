"""What people use to choose and judge rules: simulations, studies, proofs, replays, advice.

`simulate` plays a scenario; `rule_set_scenario` makes one for a file of rules, with `playfab_draws`
for what PlayFab's rules compare. `solve` divides a batch, `optimum` says what a run could have
cost, and `check_matches` whether a file of matches keeps to a configuration. `study` runs many,
`report` draws them, `replay` and `export` read journals, `advise` counts players, and `imports`
takes over files of other matchmakers.

May import everything below it. Never imports the server, the client or the command line; it returns
values and leaves printing to `cli`.
"""

"""Tools to choose and judge rules: simulations, studies, proofs, replays, advice.

`simulate` runs a scenario; `rule_set_scenario` makes one for a file of rules, with `playfab_draws`
for the attributes that PlayFab's rules compare. `solve` divides a batch, `optimum` computes the
least possible cost of a run, and `check_matches` checks a file of matches against a configuration.
`study` makes many runs, `report` draws them, `replay` and `export` read journals, `advise`
estimates numbers of players and waits, and `imports` converts files of other matchmakers.

May import everything below it. Never imports the server, the client or the command line; it returns
values and leaves printing to `cli`.
"""

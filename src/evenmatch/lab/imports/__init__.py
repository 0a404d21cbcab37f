"""From files of other matchmakers to TOML, with a report line for every key in them.

Imports `model`, `criteria`, `rules`, and from `lab` the default distributions for such files:
`rule_set_scenario` and `playfab_draws`. Never reads or writes a file.
"""

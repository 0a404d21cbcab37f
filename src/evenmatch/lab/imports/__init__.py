"""From files of other matchmakers to TOML, with a line of report for everything in them.

Imports `model`, `criteria`, `rules`, and of `lab` what knows how to draw players for such files:
`rule_set_scenario` and `playfab_draws`. Never reads or writes a file.
"""

"""From files of other matchmakers to TOML, with a line of report for everything in them.

Imports `model`, `criteria`, `rules` and the draws of `lab`; never reads or writes a file.
"""

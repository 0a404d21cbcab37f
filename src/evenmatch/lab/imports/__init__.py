"""From files of other matchmakers to TOML, with a line of report for everything in them.

Imports `model`, `rules` and the draws of `lab`; writes no files itself.
"""

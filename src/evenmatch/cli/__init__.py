"""The command `evenmatch`: one module for each subcommand, loaded when it is called.

A subcommand reads options, calls `lab`, `server` or another package, and prints what comes back.
It may import everything. Nothing imports this package, and results are printed nowhere else.
"""

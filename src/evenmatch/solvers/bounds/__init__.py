"""Bounds on how good matches can be: prices, column generation, set packing.

`set_packing` bounds batches of team matches; `group_prices` bounds runs of tickets over time. May
import `solvers.teams` and `solvers.matching`; never makes a plan itself.
"""

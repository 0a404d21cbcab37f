"""How good matches can be at most: prices, column generation, set packing.

`set_packing` bounds batches of team matches; `group_prices` bounds runs of tickets over time. May
import `solvers.teams` and `solvers.matching`; never searches for a plan by itself.
"""

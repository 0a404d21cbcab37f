"""Parties divided into matches of teams: annealing, descent, and the value of matches.

`batch` defines the problem, and `reference` defines in plain Python what the kernels compute. May
import `solvers.matching`; never `solvers.bounds`, which imports this package.
"""

"""Parties divided into matches of teams: annealing, descent, and what matches are worth.

`batch` is what is divided, and `reference` defines in plain Python what the kernels compute. May
import `solvers.matching`; never the bounds, which import it.
"""

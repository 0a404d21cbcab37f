"""Rounds of one-against-one matches over a whole pool, with a proof of optimality.

May import `solvers.matching` and the batches of `solvers.teams`; never the annealing.
"""

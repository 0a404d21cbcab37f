"""Rounds of one against one over a whole pool, with a proof.

May import `solvers.matching` and the batches of `solvers.teams`; never the annealing.
"""

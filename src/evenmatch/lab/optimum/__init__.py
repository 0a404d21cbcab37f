"""The least possible cost of a run, all arrivals known: optima, bounds and floors.

May import solvers, criteria, arrivals, `theory.floor`, and the columns of `policies.shared`. Never
runs a policy: an optimum does not depend on one.
"""

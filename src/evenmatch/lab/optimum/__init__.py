"""The least that a run could have cost, all arrivals known: optima, bounds and floors.

May import solvers, criteria, arrivals, `theory.floor`, and the columns of `policies.shared`. Never
runs a policy: an optimum knows none.
"""

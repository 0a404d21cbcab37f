"""Which waiting parties fill the teams now: the service orders of queueing theory.

The policy in the engine and compiled runs call the same kernels. May import `solvers.kernel`; never
another solver.
"""

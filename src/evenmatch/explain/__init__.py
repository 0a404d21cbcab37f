"""Why a ticket still waits: what stands in its way, how near it is to a match, what would help.

It looks at a snapshot of a queue and never changes it. May import the engine's state, criteria
and solvers.
"""

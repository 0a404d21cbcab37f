"""Why a ticket still waits: the obstacles, the nearest possible match, and what would help.

It takes a `snapshot` of a queue, compares one ticket with all others, and describes the findings in
sentences. `by_conditions` does this for queues with conditions, using the prospects of searches.
May import the engine, criteria, solvers, the contract of policies and
`policies.shared.nearest_legal_match`. Never changes its input, so the server may explain in a
thread.
"""

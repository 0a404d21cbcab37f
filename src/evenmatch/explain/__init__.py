"""Why a ticket still waits: what stands in its way, how near it is to a match, what would help.

It reads a `snapshot` of a queue, compares one ticket with all others, and says what it found in
sentences. May import the engine, criteria, solvers and the contract of policies. Never changes what
it looks at, so the server may explain in a thread.
"""

"""Why a ticket still waits: what stands in its way, how near it is to a match, what would help.

It reads a `snapshot` of a queue, compares one ticket with all others, and says what it found in
sentences. `by_conditions` does so in queues with conditions, by the prospects that searches go by.
May import the engine, criteria, solvers, the contract of policies and
`policies.shared.nearest_legal_match`. Never changes what it looks at, so the server may explain in
a thread.
"""

"""What the engine remembers, folded from events and from nothing else.

A running engine and recovery use the same `reducers`. May import `criteria` and the values of
`model`. Never asks a policy, and decides nothing.
"""

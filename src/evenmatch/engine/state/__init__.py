"""What the engine remembers, folded from events and from nothing else.

Recovery and live operation use the same reducers. Nothing here asks a policy or decides
anything.
"""

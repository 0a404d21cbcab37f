"""Who may enter: tickets, changed tickets, limits, and the delay before a newcomer counts.

Whatever is refused here has changed nothing. May import `criteria` and `engine.state`; never a pool
or a policy.
"""

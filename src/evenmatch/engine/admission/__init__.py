"""Who may enter: tickets, changed tickets, limits, and the delay before a newcomer counts.

What is refused here has changed nothing.
"""

"""Values only: tickets, queues, matches, inputs, events. All are frozen.

Imports nothing of ours but errors, and is imported by everybody.
"""

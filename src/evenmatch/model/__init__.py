"""Values only: tickets, queues, matches, inputs, events. All are frozen.

Imports nothing from evenmatch except `errors`, and is imported by every other package.
"""

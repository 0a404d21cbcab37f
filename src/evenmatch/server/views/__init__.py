"""Folds of durable records into what clients and operators see.

A view hears each record once, after it is durable; most hear of tickets and matches through
`engine.lifecycle`. Nothing here changes the engine. May import the engine's events and state,
`explain`, `forecast`, `wire`, and of the server the runtime and what makes answers; never the
journal.
"""

"""Folds of durable records into what clients and operators see.

A view hears each record once, after it is durable; nothing here changes the engine. May
import the engine's events and state, `explain` and `forecast`; never the journal.
"""

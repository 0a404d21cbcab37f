"""The port through which records become durable, and its adapters.

May do I/O; of the engine it knows `engine.records` only.
"""

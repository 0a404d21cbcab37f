"""The port through which records become durable, and its adapters: SQLite and memory.

May do I/O. Of the engine it imports `engine.records` alone; it never knows what a record means.
"""

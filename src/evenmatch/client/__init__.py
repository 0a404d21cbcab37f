"""Clients of a server: `Client`, and `AsyncClient` for programs with an event loop.

They know the types of `wire` and nothing else of ours, so a game's backend loads no engine.
"""

"""Clients of a server: `Client`, and `AsyncClient` for programs with an event loop.

May import `wire` and nothing else of ours, so that a game's backend loads no engine; never the
server.
"""

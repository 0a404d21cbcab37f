"""Finds a game server for each match: asks a webhook or Agones until it gets one.

It hears of matches when they are durable, and hands the answers in as inputs. May import
`server.runtime` and `wire`; never decides who plays.
"""

"""Reads TOML into queues, scenarios and server settings.

If a file is wrong, all its mistakes are reported, one sentence each, with the key that is wrong.
Other packages call `files`. May import `model`, `criteria`, `policies`, `rules` (since a queue may
name a file of rules) and the tables of `simulation.arrivals`; reads no clock and starts nothing.
"""

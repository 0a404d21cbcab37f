"""From TOML to values: queues, scenarios, server settings, or one sentence that names the key.

`files` is the door for everybody else. May import model, criteria, policies and the tables
of `simulation.arrivals`; reads no clock and starts nothing.
"""

"""From TOML to values: queues, scenarios and server settings, or all mistakes, a sentence each.

Other packages call `files`. A sentence names the key that is wrong. May import `model`,
`criteria`, `policies`, `rules` (since a queue may name a file of rules) and the tables of
`simulation.arrivals`; reads no clock and starts nothing.
"""

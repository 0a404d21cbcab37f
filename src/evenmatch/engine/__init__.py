"""The engine: a deterministic state machine that turns inputs into events.

`engine` takes inputs in turn, `shard` puts the output gate around it, `records` is what the
journal holds. May import model, criteria, solvers and `policies.base`; no clock, no I/O, no
threads, no chance of its own.
"""

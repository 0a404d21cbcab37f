"""The shell around a shard: journal, clock, timers, threads, start and stop.

`runtime` hands inputs to the shard, commits its records, sends its answers and keeps its timers;
`serve` starts and stops the process, `recovery` gets a shard from its journal, `services` puts the
parts of one server together. May import all of the server; never makes a match by itself.
"""

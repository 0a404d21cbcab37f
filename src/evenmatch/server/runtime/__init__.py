"""The shell around a shard: journal, clock, timers, threads, start and stop.

`runtime` hands inputs to the shard, commits its records, sends its answers and keeps its timers;
`serve` starts and stops the process. `recovery` rebuilds a shard from its journal however the
process ended, even by kill -9, and `return_grace` gives players the time to come back; `services`
puts the parts of one server together. May import all of the server; never makes a match by itself.
"""

"""The shell around a shard: journal, clock, timers, threads, start and stop.

It commits the records of the shard, sends its answers and keeps its timers; it makes no matches.
"""

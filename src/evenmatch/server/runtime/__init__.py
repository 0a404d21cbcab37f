"""The shell around a shard: journal, clock, timers, threads, start and stop.

It executes what the shard says and decides nothing.
"""

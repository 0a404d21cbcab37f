"""Parties from all over the world: where they live, how far they are, how good they are.

`simulation.arrivals.arrivals` calls `world_arrivals`, which gives arrivals as other processes do.
May import `model`, `criteria`, the shipped data, streams of chance, and of `simulation.arrivals`
its values, instants and tables, but not `arrivals`; never the engine.
"""

"""Compiled runs: arrays in, matches out, the same ones as the engine makes.

`compilable` says which runs can be compiled, and why not. May import policies, their steps in
`solvers`, arrivals, and of the engine `admission.shard_limits` alone, so that both refuse at the
same bounds. Never runs the engine; tests hold the two to the same matches.
"""

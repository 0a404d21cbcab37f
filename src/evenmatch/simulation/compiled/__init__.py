"""Compiled runs: arrays in, matches out, the same ones as the engine makes.

`compilable` says which runs can be compiled, and why not. May import policies and
their steps in `solvers`. Never imports the engine; tests hold the two to the same matches.
"""

"""Combinatorics that never heard of tickets: arrays in, arrays out.

`kernel` compiles. May import numpy, numba, scipy and highspy; nothing of ours.
"""

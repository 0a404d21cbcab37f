"""Parties divided into matches of teams: annealing, descent, and what matches are worth.

`reference` defines in plain Python what the kernels compute.
"""

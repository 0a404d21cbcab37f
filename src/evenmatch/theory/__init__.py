"""Exact figures from formulas and small chains: waits, stability, floors.

One module for each result of `evenmatch theory`. Imports nothing of ours but errors, so that it can
check the rest.
"""

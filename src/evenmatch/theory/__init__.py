"""Exact figures from formulas and small chains: waits, stability, floors.

One module for each result of `evenmatch theory`. Imports nothing from evenmatch except `errors`, so
that it can serve as an independent check of the rest.
"""

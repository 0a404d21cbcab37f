"""Exact figures from formulas and small chains: waits, stability, floors.

Imports nothing of ours, so that it can check the rest.
"""

"""Figures, plots and pages about runs.

Only `plots` draws, and it loads matplotlib on first use. May import runs and studies; never starts
one.
"""

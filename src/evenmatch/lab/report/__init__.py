"""Figures, plots and pages about runs.

`plots` alone draws, and loads matplotlib when it does. May import runs and studies; never starts
one.
"""

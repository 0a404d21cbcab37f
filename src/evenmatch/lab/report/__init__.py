"""Figures, plots and pages about runs. `plots` alone draws."""

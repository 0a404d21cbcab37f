"""Forecasts of waits, from rates of matching that are learnt online.

May import `model` and numpy. Never reads a clock and never accesses the engine: the caller reports
who entered and left, and when.
"""

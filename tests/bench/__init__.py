"""Measurements of speed and memory: `make bench`, or `python -m tests.bench [NAME ...] [--quick]`.

Each bench is one module whose `run(setting)` yields rows. No time is asserted anywhere: a figure
stands beside what the project aims at, with the machine, the repetitions and the spread. Ratios
come from runs that take turns, so that a slow minute of the machine slows both sides. `memory` and
`server` read /proc, so they need Linux.
"""

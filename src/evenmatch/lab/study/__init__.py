"""Many runs: seeds, sweeps, confidence, and the calibration of estimates.

May import `lab.simulate` and `forecast`, and may start processes. Never writes a page; `report`
does.
"""

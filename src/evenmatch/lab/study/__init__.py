"""Many runs: seeds, sweeps, confidence, and whether estimates held.

May import `lab.simulate` and `forecast`, and may start processes. Never writes a page; `report`
does.
"""

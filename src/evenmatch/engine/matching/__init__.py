"""From pools to matches: scheduler, pools, deadlines, jobs, the check of every decision.

It alone talks to matchers.
"""

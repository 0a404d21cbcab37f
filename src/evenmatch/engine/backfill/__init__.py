"""Backfill finds players for running matches that have free seats and ask for some.

May import `engine.matching` and `engine.state`. Never asks a policy: criteria and rules
say who fits. A queue without backfill pays for none of it.
"""

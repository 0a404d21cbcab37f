"""Running matches that ask for players: who could join, and when they come before new matches.

May import `engine.matching` and `engine.state`. Never asks a policy: criteria and rules
say who fits. A queue without backfill pays for none of it.
"""

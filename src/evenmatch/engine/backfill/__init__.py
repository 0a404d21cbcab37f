"""Running matches that ask for players: who could join them, and when they come before new ones.

A queue without backfill pays for none of it.
"""

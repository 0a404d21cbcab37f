"""The ready-check: players accept or decline, and a failed check is repaired.

A queue without one pays for none of it.
"""

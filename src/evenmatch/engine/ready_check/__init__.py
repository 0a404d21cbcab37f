"""The ready-check: players accept or decline, and a failed check is repaired.

Queues without a ready-check never come here.
"""

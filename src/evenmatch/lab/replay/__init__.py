"""Replay of a journal: decided again, told as the story of a match, or under another policy.

May import the engine, the journals and the policies. Never writes to the journal.
"""

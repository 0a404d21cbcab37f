"""Replays a journal: decides it again, tells the story of one match, or tries another policy.

May import the engine, the journals and the policies. Never writes to the journal.
"""

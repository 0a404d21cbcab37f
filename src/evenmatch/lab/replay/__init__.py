"""A journal decided again, the story of a match, another policy on the same inputs.

May import the engine, the journals and the policies. Never writes to the journal.
"""

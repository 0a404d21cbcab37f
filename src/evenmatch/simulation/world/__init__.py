"""Parties from all over the world: where they live, how far they are, how good they are.

May import `model`, `criteria` and the shipped data; never the engine.
"""

"""Parties from all over the world: where they live, how far they are, how good they are."""

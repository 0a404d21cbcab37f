"""Rounds of one against one over a whole pool, with a proof."""

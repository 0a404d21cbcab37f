"""What several policies are built of: timers, searches, pairs, batches, compiled steps.

No policy lives here. Most modules do not know which policies use them; those that carry the idea of
one or a few say whose it is (`greedy_matcher`, `condition_matcher`, `pace`, `rated_duels`). May
import what policies may; never the engine.
"""

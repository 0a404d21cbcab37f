"""What several policies are built of: timers, searches, pairs, batches, compiled steps.

No policy lives here, and none of these modules knows which policy uses it. May import what policies
may; never the engine.
"""

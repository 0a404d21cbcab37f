"""What several policies are built of: timers, turns, searches, memories, batches.

No policy lives here, and none of these modules knows which policy uses it.
"""

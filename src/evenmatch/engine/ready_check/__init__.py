"""The ready-check: players accept or decline, and a proposal that failed is repaired.

May import `engine.matching` and `engine.state`. Never asks a policy: criteria and rules say who
fits. A queue without a ready-check pays for none of it.
"""

"""Who calls, what they may do, and what is written down about it.

Every request passes `authenticate` and then `authorize`.
"""

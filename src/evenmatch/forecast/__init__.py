"""How long tickets will wait: rates of matching, learnt from what happens.

May import `model` and numpy. Never reads a clock and never looks into the engine: the caller tells
it who entered and left, and when.
"""

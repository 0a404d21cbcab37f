"""How long tickets will wait: rates of matching by cell, learnt from what happens.

May import model and numpy.
"""

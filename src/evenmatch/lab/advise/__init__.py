"""How many players a game needs, or how long those that it has will wait.

Theory where it holds, a simulation where it ends.
"""

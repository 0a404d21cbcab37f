"""Who is near: an age tree on a line, and sweep-and-prune over several axes.

Plain Python, not compiled. Imports nothing of ours, and never asks how a neighbour will be used.
"""

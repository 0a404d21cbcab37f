"""Nearest neighbours: an age tree on a line, and sweep-and-prune over several axes.

Plain Python, not compiled. Imports nothing of ours, and does not know what neighbours are used for.
"""

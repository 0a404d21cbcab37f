"""Code shared by all papers: rows and parts, settings, sequences of players, means, words.

It may import all of evenmatch, and nothing else from `papers`.
"""

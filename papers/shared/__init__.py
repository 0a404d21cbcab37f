"""What all papers share: rows and parts, settings, sequences of players, means, words.

It may import all of evenmatch, and nothing else of `papers`.
"""

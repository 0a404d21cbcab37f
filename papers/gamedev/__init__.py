"""The thread "Matching players in an online 1vs1 game" on a forum of game developers.

Its suggestions on one population, its examples, and its rules on recorded arrivals. It may import
all of evenmatch, `papers.shared` and `papers.statements`.
"""

"""The blog on the matchmaking of Awesomenauts, whose program is called Galactron.

Its six factors, swaps and restarts, rounds of any size, weights, and rounds compared with matches
that start at once; all with players of our own world (`world_batch`). It may import all of
evenmatch, `papers.shared` and `papers.statements`.
"""

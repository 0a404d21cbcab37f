"""Rule Designs for Optimal Online Game Matchmaking, by Xu, Yu and Wu.

Matches of k players, two against two, sides, zones and the appendix, each by the printed formula,
by an exact chain and by simulation; beyond the paper, larger teams, packages and players who change
their minds. It may import all of evenmatch, `papers.shared` and `papers.statements`.
"""

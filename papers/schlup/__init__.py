"""Automatic Game Matching, by Schlup.

Formulas (2) to (9), figures 2 and 3, tables 1 and 3, section 5.3, matches of many players, and the
value of foresight and the cost of a clock. It may import all of evenmatch, `papers.shared` and
`papers.statements`.
"""

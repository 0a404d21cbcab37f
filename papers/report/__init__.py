"""The folder of a reproduction: a page, rows as JSON and CSV, figures, scenarios.

It may import all of evenmatch, and from `papers` only what it shows: `reproduction`, `statements`
and `shared`, but no paper.
"""

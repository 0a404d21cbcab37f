"""The folder of a reproduction: a page, rows as JSON and CSV, figures, scenarios.

It may import all of evenmatch, and of `papers` what it shows: `reproduction`, `statements` and
`shared`, but no paper.
"""

"""Dynamic Matching With Teams, by Wu.

Lemmas and theorem on an exact chain, greedy and patient matching in the engine, more than two
skills, and windows of a continuous skill. It may import all of evenmatch, `papers.shared` and
`papers.statements`.
"""

"""From rows to statements: the statement of a paper, the verdict on it, and the reason in words.

The statements themselves are in the package of each paper. This package may import all of evenmatch
and `papers.shared`.
"""

"""From rows to statements: what a paper says, the verdict on it, and the reason in words.

The statements themselves stand in the package of each paper. It may import all of evenmatch and
`papers.shared`.
"""

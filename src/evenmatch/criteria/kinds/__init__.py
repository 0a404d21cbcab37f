"""The kinds of criteria and rules: what each compares, and when it allows a match.

`criteria.registry` names them all. A kind may import the modules of `criteria` it builds on,
never a policy, a solver or another package above.
"""

"""What conditions over the teams of a match say: `model.condition` states them.

`facts` reads tickets, `measures` computes expressions of a whole match, `verdicts` judges tests,
`ages` says at which ages of a match a condition holds, and `partial_match` which tests a match that
is still being built can no longer pass. The kind of rule is `criteria.kinds.conditional`.

Imports `model` and the rest of `criteria`; never a language that conditions come from.
"""

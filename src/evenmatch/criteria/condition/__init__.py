"""Conditions over the teams of a match: whether and when they hold, as `model.condition` has them.

`facts` reads tickets, `measures` computes expressions of a whole match, and `verdicts` judges
tests. A condition has no limit that widens with a gap, but a set of ages of the match at which it
holds, and may cease to hold again: `ages` finds that set, and `ages.first_after` the next instant
in it. That is the second way to an instant, beside the limits of `criteria.expansion`;
`criteria.rules` joins both. `partial_match` says which tests a match that is still being built can
no longer pass, by the bounds in `value_bounds`; `implications` says what tests mean for any two
tickets, for one, or for a team. The kind of rule is `criteria.kinds.conditional`.

Imports `model` and the rest of `criteria`; never a language that conditions come from.
"""

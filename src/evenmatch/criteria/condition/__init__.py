"""Conditions over the teams of a match: whether and when they hold; see `model.condition`.

`facts` reads tickets, `measures` computes expressions of a whole match, and `verdicts` evaluates
tests. A condition has no limit that widens with a gap. It has a set of ages of the match at which
it holds, and it may cease to hold: `ages` computes that set, and `ages.first_after` the next
instant in it. So instants come from two sources, the limits of `criteria.expansion` and these
conditions; `criteria.rules` combines them. `partial_match` finds the tests that a match under
construction can no longer pass, by the bounds in `value_bounds`; `implications` states what tests
imply for any two tickets, for one, or for a team. The kind of rule is `criteria.kinds.conditional`.

Imports `model` and the rest of `criteria`; never a language that conditions come from.
"""

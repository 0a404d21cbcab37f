"""How good a match is, and whether it is allowed: criteria, rules, and the objective of both.

`objective` puts one number on a match, and `rules` says from when on it is legal. `kinds` holds one
module for each kind of criterion and rule, `columns` compares one ticket with many at once, and
`validation` says what a queue must be like. Values become costs in `scales`, a limit that widens is
`expansion`, and `divisions` splits a match into teams.

May import `model` and numpy. Never imports a policy, a solver or the engine; has no clock, no
chance and no files.
"""

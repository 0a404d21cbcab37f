"""How good a match is, and whether it is allowed: criteria, rules, and the objective of both.

`objective` puts one number on a match and says from when it is allowed (`Seating.ready_at`), which
is what the engine compares with the time. `rules` says from when on a match is legal: it asks the
kind of each rule for the gap, `expansion` for the instant at which the limit reaches it, and
conditions for the next instant at which they hold. Policies, the check of decisions, repairs and
explanations all ask `rules`; copies for speed, in columns, batches and kernels, are held to it by
tests. `kinds` holds one module for each kind of
criterion and rule, `condition` what conditions over whole teams say and at which ages of a match
they hold, `columns` compares one ticket with many at once, and `validation` says what a queue must
be like. Values become costs in `scales`, and `divisions` splits a match into teams.

May import `model` and numpy. Never imports a policy, a solver or the engine; has no clock, no
chance and no files.
"""

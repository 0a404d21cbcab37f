"""How good a match is, and whether it is allowed: criteria, rules, and the objective of both.

`objective` puts one number on a match and says from when it is allowed (`Seating.ready_at`), which
is what the engine compares with the time. `rules` says the instant from which a match is legal: it
asks the kind of each rule for the gap, `expansion` for the instant at which the limit reaches it,
and conditions for the next instant at which they hold. Policies, the check of decisions, deadlines,
repairs, backfill and explanations all ask `rules`. Admission asks it too, for parties that break a
rule by themselves.

There are four copies for speed: `columns`, `policies.shared.batch_rules` for the solvers of teams
and duels, `policies.shared.step_columns` for `solvers.steps.waiting`, and `explain.pair_columns`.
Tests hold each to `rules`.

`kinds` holds one module for each kind of criterion and rule. `condition` says at which ages of a
match conditions over whole teams hold. `columns` compares one ticket with many at once.
`validation` says what a queue must be like. Values become costs in `scales`, and `divisions` splits
a match into teams.

May import `model` and numpy. Never imports a policy, a solver or the engine; has no clock, no
chance and no files.
"""

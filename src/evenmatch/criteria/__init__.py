"""How good a match is, and whether it is allowed: criteria, rules, and the objective of both.

`objective` computes the cost of a match and the instant from which it is allowed
(`Seating.ready_at`), which the engine compares with the time. `rules` computes that instant: the
kind of each rule gives the gap, `expansion` the instant at which the limit reaches the gap, and
conditions the next instant at which they hold. Policies, the check of decisions, deadlines,
repairs, backfill and explanations all use `rules`; so does admission, for parties that break a rule
by themselves.

Four faster copies of the rules exist: `columns`, `policies.shared.batch_rules` for the solvers of
teams and duels, `policies.shared.step_columns` for `solvers.steps.waiting`, and
`explain.pair_columns`. Tests compare each with `rules`.

`kinds` has one module for each kind of criterion and rule. `condition` computes the ages of a match
at which conditions over whole teams hold. `columns` compares one ticket with many at once.
`validation` checks queues. `scales` turns values into costs, and `divisions` divides a match into
teams.

May import `model` and numpy. Never imports a policy, a solver or the engine; has no clock, no
random numbers and no files.
"""

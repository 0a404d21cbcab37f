"""From pools to matches: scheduler, pools, deadlines, jobs, and the check of every decision.

This is the only package that talks to matchers, and no decision of a policy gets past its
`decision_check`, which holds it to format and rules. Three other parts make matches without it:
`deadlines`, for tickets whose time is up, `ready_check` and `backfill`. They hold what they put
together to the same instant, `Seating.ready_at`. May import `engine.state`, `engine.admission` and
the contract of policies. Never imports `ready_check`, `backfill` or `outcomes`: they hook into the
scheduler.
"""

"""From pools to matches: scheduler, pools, deadlines, jobs, and the check of every decision.

This is the only package that talks to matchers, and no decision gets past its `decision_check`,
which holds it to format and rules. May import `engine.state`, `engine.admission` and the contract
of policies. Never imports `ready_check`, `backfill` or `outcomes`: they hook into the scheduler.
"""

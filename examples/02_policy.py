"""Try a policy of one's own before it goes live: `my_policies.py` beside this file.

By its dotted name the same function runs on the command line and in a server:

    PYTHONPATH=examples evenmatch simulate scenarios/duel.toml --policy my_policies.neighbours
"""

from pathlib import Path

from my_policies import neighbours

import evenmatch

SCENARIO = Path(__file__).parent.parent / "scenarios" / "duel.toml"

CHOICES = {
    "window": "window",
    "neighbours": neighbours,
    "neighbours, limit 50": neighbours(limit=50.0, rate=0.5),
    "the same by name": "my_policies.neighbours:limit=50,rate=0.5",
}
for name, chosen in CHOICES.items():
    summary = evenmatch.simulate(SCENARIO, policy=chosen).summary
    print(
        f"{name:22}{summary['matches']:6,} matches, {summary['expired']:3} expired, "
        f"wait {summary['wait']['mean']:5.2f} s, quality {summary['quality']['mean']:.4f}"
    )


# The engine checks every match. A policy that breaks a rule of the queue is named, with the rule.
@evenmatch.policy()
def careless(pool, _now):
    return [pool[:2]] if len(pool) > 1 else []


try:
    evenmatch.simulate(SCENARIO, policy=careless)
except evenmatch.MatchmakingError as error:
    print(f"\n{type(error).__name__}: {error}")

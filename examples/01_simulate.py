"""What does a policy cost? Play the same evening under several of them and look.

Every policy meets the same tickets: arrivals draw from streams of chance of their own.
"""

from pathlib import Path

import evenmatch

SCENARIO = Path(__file__).parent.parent / "scenarios" / "halo.toml"
POLICIES = ["greedy", "periodic:rounds_of=4", "window:limit=2,rate=0.1", "window:limit=1,rate=0.02"]

print(f"{'policy':26}{'matches':>8}{'wait, mean':>12}{'wait, p99':>12}{'cost a match':>14}")
for policy in POLICIES:
    run = evenmatch.simulate(SCENARIO, policy=policy)
    wait = run.summary["wait"]
    print(
        f"{policy:26}{run.summary['matches']:8,}{wait['mean']:10.1f} s{wait['p99']:10.1f} s"
        f"{run.summary['cost_per_match']:14.1f}"
    )

# A run also holds every match and every ticket, as the command line writes them to files.
run = evenmatch.simulate(SCENARIO, policy="window:limit=2,rate=0.1")
longest = max(run.tickets, key=lambda ticket: ticket["wait"])
print(f"\nlongest wait: ticket {longest['ticket']}, {longest['wait']:.0f} s, {longest['state']}")

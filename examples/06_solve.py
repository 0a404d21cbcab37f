"""Ten people want to play 2v2 now: who plays with whom, and could it be any better?"""

import evenmatch

PARTIES = [{"ada": 2100, "bob": 1800}, {"cyd": 1650, "dan": 1500}, {"eve": 1400}, {"fay": 950}]
PARTIES += [{"gus": 2000}, {"hal": 1550}, {"ivy": 1250}, {"jon": 1700}]

batch = {
    "format": {"teams": 2, "players": 2},
    "criteria": [
        {"kind": "imbalance", "attribute": "skill", "scale": {"max": 3000}, "weight": 2},
        {"kind": "spread", "attribute": "skill", "scale": {"max": 3000}, "weight": 1},
        {"kind": "party_parity", "weight": 1},
    ],
    "tickets": [
        {"players": [{"id": name, "attributes": {"skill": skill}} for name, skill in party.items()]}
        for party in PARTIES
    ],
}

solution = evenmatch.solve(batch, effort=10_000, bound=True)

for match in solution.matches:
    teams = " against ".join("+".join(team) for team in match["ids"])
    print(f"{teams}: {match['quality']:.1f} of 100")
print(f"left over: {len(solution.bench)} players")
print(f"quality {solution.quality:.2f}, and no plan has more than {solution.bound:.2f}")

try:
    evenmatch.solve(batch, policy="greedy")
except evenmatch.MatchmakingError as error:
    print(f"\n{type(error).__name__}: {error}")

"""What it costs everybody that two people cannot arrange to meet: limits on pairs and households.

The top of a ladder in an hour and a half: 60 players who come back every four minutes or so. Among
them are five "directors", each with an "actor" who presses at the same second and means to lose
(Wu, Dynamic Matching with Teams, footnote 6). The two share a household, if the game knows it.
"""

import random
from statistics import fmean, stdev

import evenmatch
from evenmatch.config.files import parse_scenario
from evenmatch.model.ticket import Player, Rating, Ticket

QUEUE = """
[[queue]]
wait_max = 300.0
policy = "window:limit=50,rate=2"
criteria = [{kind = "spread", attribute = "rating", scale = {max = 4000.0}}]
"""
PAIRS = '{kind = "pair_limit", limit = 2}'
HOMES = '{kind = "household_limit", limit = 1, pairs = "enemies"}'
SETTINGS = {
    "nothing": "",
    "pair_limit = 2 a day": f"rules = [{PAIRS}]",
    "household_limit = 1": f"rules = [{HOMES}]",
    "commit_jitter = 20 s": "commit_jitter = 20.0",
    "all three": f"rules = [{PAIRS}, {HOMES}]\ncommit_jitter = 20.0",
}
EVENING, EVERY, SEEDS, T_VALUE = 5400.0, 240.0, 5, 2.776
"""Seconds; mean seconds between two presses of a player; evenings; Student's 97.5 % for 4."""


def people(rng):
    """Return players by id with their ratings; an actor is as good as his director."""
    ratings = {f"p{n:02d}": rng.gauss(2200.0, 80.0) for n in range(50)}
    for n in range(5):
        ratings[f"director{n}"] = rng.gauss(2250.0, 50.0)
        ratings[f"actor{n}"] = ratings[f"director{n}"] + rng.uniform(-15.0, 15.0)
    return ratings


def evening(seed):
    """Return the tickets of one evening, by time."""
    rng = random.Random(seed)
    ratings, presses = people(rng), []
    for name in ratings:
        if name.startswith("actor"):
            continue
        at = rng.expovariate(1.0 / EVERY)
        while at < EVENING:
            together = [name, name.replace("director", "actor")] if "director" in name else [name]
            presses += [(at, each) for each in together]
            # Nobody presses again while he plays.
            at += 120.0 + rng.expovariate(1.0 / (EVERY - 120.0))
    presses.sort()
    return [
        Ticket(f"t{n}", n, at, (player(name, ratings[name]),), ("main",))
        for n, (at, name) in enumerate(presses, 1)
    ]


def player(name, rating):
    return Player(name, Rating(rating), {"household": name[-1]} if is_arranged(name) else {})


def is_arranged(name):
    return name.startswith(("director", "actor"))


def figures(settings, seed):
    """Return the share of directors' games that are against the own actor, then what all feel."""
    tickets = evening(seed)
    run = evenmatch.simulate(parse_scenario(QUEUE + settings), arrivals=tickets)
    who = {ticket.id: ticket.players[0].id for ticket in tickets}
    pairs = [sorted(who[ticket] for ticket in match["tickets"]) for match in run.matches]
    games = [(a, b) for a, b in pairs if a.startswith("director") or b.startswith("director")]
    fixed = sum(is_arranged(a) and is_arranged(b) and a[-1] == b[-1] for a, b in games)
    wait, quality = run.summary["wait"], run.summary["quality"]
    unmatched = run.summary["expired"] / run.summary["tickets"]
    return [fixed / len(games), wait["mean"], wait["p95"], quality["mean"], unmatched]


def table():
    found = {
        name: [figures(text, seed) for seed in range(SEEDS)] for name, text in SETTINGS.items()
    }
    assert all(len(rows) == SEEDS for rows in found.values())
    yield f"{'':22}{'arranged':>16}{'mean wait':>16}{'p95 wait':>18}{'quality':>18}{'expired':>17}"
    for name, rows in found.items():
        cells = [
            (fmean(column), T_VALUE * stdev(column) / SEEDS**0.5)
            for column in zip(*rows, strict=True)
        ]
        (share, ds), (mean, dm), (p95, dp), (quality, dq), (gone, dg) = cells
        yield (
            f"{name:22}{share:8.1%} ± {ds:5.1%}{mean:8.2f} ± {dm:4.2f}s{p95:9.1f} ± {dp:4.1f} s"
            f"{quality:9.4f} ± {dq:6.4f}{gone:8.2%} ± {dg:5.2%}"
        )


if __name__ == "__main__":
    for line in table():
        print(line)

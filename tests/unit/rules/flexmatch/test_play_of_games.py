"""Rule sets in the manner of many kinds of games play, and whatever is made is legal."""

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import numpy as np
import pytest

from evenmatch.lab.rule_set_scenario import scenario_of_rules
from evenmatch.lab.simulate import simulate
from evenmatch.model.queue import Queue
from evenmatch.model.scenario import Scenario
from evenmatch.model.ticket import LATENCY, NewTicket, Player, Ticket, Value
from evenmatch.rules.flexmatch.checker.judgement import objections_to
from evenmatch.rules.flexmatch.checker.match import (
    CandidateMatch,
    CandidatePlayer,
    CandidateTicket,
)
from evenmatch.rules.flexmatch.reader import load_rule_set, read_rule_set
from evenmatch.simulation.arrivals.arrivals import arrivals_of
from tests.extent import extent
from tests.shared import shipped

GAMES = {each.stem: each for each in sorted(shipped("flexmatch_games").glob("*.json"))}
TICKETS = extent(120, 400)
PARTY_SHARE = 0.3
MATCHED_LEAST = 0.5
"""Share of the players who find a match in every game, as its players are drawn."""
FEWER = {
    "tournament_xor": 0.3,  # one of two has to want a stream
    "mentor_and_learner": 0.2,  # one mentor of three kinds of players
    "horror_one_against_four": 0.4,  # as many killers as survivors come
    "roles_by_collection": 0.3,
    "coop_classes": 0.2,
}


def drawn(path: Path, seed: int) -> tuple[Queue, list[Ticket]]:
    """Return the queue of a rule set, and tickets of one to three players drawn for it."""
    scenario = scenario_of_rules(path).scenario
    assert scenario.arrivals is not None
    arrivals = msgspec.structs.replace(scenario.arrivals, count=2 * TICKETS)
    coming = list(arrivals_of(arrivals, np.random.SeedSequence(seed)))
    queue, rng, numbers = scenario.queues[0], Random(seed), count(1)
    most = max(queue.format.players)
    tickets: list[Ticket] = []
    while coming and len(tickets) < TICKETS:
        size = rng.choice([2, 2, 3]) if rng.random() < PARTY_SHARE else 1
        own, coming = coming[: min(size, most)], coming[min(size, most) :]
        number = next(numbers)
        players = tuple(
            [Player(f"p{number}.{at}", None, _of(each.ticket)) for at, each in enumerate(own)]
        )
        tickets.append(Ticket(f"t{number}", number, own[0].at, players, ("main",)))
    return queue, tickets


def _of(ticket: NewTicket) -> dict[str, Value]:
    return {**ticket.attributes, **ticket.players[0].attributes}


def candidate(ticket: Ticket) -> CandidateTicket:
    players = []
    for player in ticket.players:
        attributes = dict(player.attributes)
        latencies = attributes.pop(LATENCY, None)
        players.append(
            CandidatePlayer(
                id=player.id,
                attributes=attributes,  # type: ignore[arg-type]
                latencies=latencies if isinstance(latencies, dict) else None,
            )
        )
    return CandidateTicket(id=ticket.id, players=tuple(players), enqueued_at=ticket.enqueued_at)


def faults(path: Path, tickets: Sequence[Ticket], matches: Sequence[dict[str, Any]]) -> list[str]:
    rule_set = load_rule_set(path.read_text())
    by_id = {ticket.id: candidate(ticket) for ticket in tickets}
    names, found = rule_set.scope.all_teams(), []
    for row in matches:
        teams = zip(names, row["teams"], strict=True)
        match = CandidateMatch(teams={n: tuple(by_id[i] for i in ids) for n, ids in teams})
        found += [f"{row['at']}: {each}" for each in objections_to(rule_set, match, row["at"])]
    return found


@pytest.mark.parametrize("name", GAMES)
def test_every_game_is_read_without_a_complaint(name: str) -> None:
    rule_set, findings = read_rule_set(GAMES[name].read_text())
    assert rule_set is not None
    assert [each for each in findings if each.level == "error"] == []


@pytest.mark.parametrize("name", GAMES)
def test_every_game_plays_by_the_checker(name: str) -> None:
    queue, tickets = drawn(GAMES[name], 5)
    run = simulate(Scenario(queues=(queue,)), arrivals=tickets)
    assert faults(GAMES[name], tickets, run.matches) == []
    players = sum(ticket.size for ticket in tickets)
    assert run.summary["players"] >= FEWER.get(name, MATCHED_LEAST) * players

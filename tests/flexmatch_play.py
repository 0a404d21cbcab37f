"""Play small pools by rule sets in the engine, and hold what comes of it against brute force."""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product

import msgspec

from evenmatch.criteria.expansion import TICKS
from evenmatch.criteria.objective import Objective
from evenmatch.criteria.rules import Rules
from evenmatch.lab.simulate import simulate
from evenmatch.model.queue import Queue, Rule
from evenmatch.model.scenario import Scenario
from evenmatch.model.ticket import Player, Ticket
from evenmatch.rules.flexmatch.checker.judgement import is_legal, legal_instants
from evenmatch.rules.flexmatch.checker.match import CandidateMatch, CandidateTicket
from evenmatch.rules.flexmatch.compile import compile_rule_set
from evenmatch.rules.flexmatch.rule_set import RuleSet, TeamExpansion

UNTIL = 700.0
"""Seconds after which every policy has made what it makes."""
LATE_MAX = 4 / TICKS
"""Seconds by which a match may be later than the first instant at which one is legal.

A timer rings at the next instant of the time grid, and a search that is longer than a turn goes on
at the one after it.
"""


def queue_of(rule_set: RuleSet, policy: str = "by_rules") -> Queue:
    return compile_rule_set(rule_set).queue(Queue("main", on_deadline="keep", policy=policy))


def ticket_of(given: CandidateTicket, sequence: int) -> Ticket:
    players = []
    for each in given.players:
        attributes = {k: float(v) if isinstance(v, int) else v for k, v in each.attributes.items()}
        if each.latencies is not None:
            attributes["latency"] = dict(each.latencies)
        players.append(Player(each.id, attributes=attributes))
    return Ticket(given.id, sequence, given.enqueued_at, tuple(players), ("main",))


def admitted(rule_set: RuleSet, pool: Sequence[CandidateTicket]) -> list[CandidateTicket]:
    """Return the tickets that a queue takes, by age: others lack what no match can do without."""
    queue = queue_of(rule_set)
    objective = Objective(queue)
    ordered = sorted(pool, key=lambda each: each.enqueued_at)
    return [
        each
        for each in ordered
        if queue.format.admits(len(each.players))
        and objective.missing(with_defaults(ticket_of(each, 0), queue)) is None
    ]


def with_defaults(ticket: Ticket, queue: Queue) -> Ticket:
    """Return a ticket with what its queue takes for attributes that it leaves out."""
    return msgspec.structs.replace(ticket, attributes=dict(queue.defaults))


def played(
    rule_set: RuleSet,
    pool: Sequence[CandidateTicket],
    policy: str = "by_rules",
    beside: tuple[Rule, ...] = (),
) -> list[tuple[float, CandidateMatch]]:
    """Return the matches that the engine makes of tickets by age, each with its instant."""
    tickets = [ticket_of(each, number) for number, each in enumerate(pool, 1)]
    # Rounds would go on for ever while somebody waits.
    until = None if policy == "by_rules" else UNTIL
    queue = with_rules(queue_of(rule_set, policy), beside)
    run = simulate(Scenario(queues=(queue,), until=until), arrivals=tickets)
    by_id = {each.id: each for each in pool}
    names = rule_set.scope.all_teams()
    found = []
    for row in run.matches:
        teams = zip(names, row["teams"], strict=True)
        match = CandidateMatch(teams={n: tuple(by_id[i] for i in ids) for n, ids in teams})
        found.append((row["at"], match))
    return found


def with_rules(queue: Queue, beside: tuple[Rule, ...]) -> Queue:
    """Return a queue with rules of its own beside those of the rule set."""
    return msgspec.structs.replace(queue, rules=(*queue.rules, *beside))


def instants_beside(
    rule_set: RuleSet, beside: tuple[Rule, ...]
) -> Callable[[CandidateMatch], Sequence[tuple[float, float]]]:
    """Return what says when a match is legal by a rule set and by rules of our own."""
    queue = queue_of(rule_set)
    rules = Rules(msgspec.structs.replace(queue, rules=beside))

    def instants(match: CandidateMatch) -> Sequence[tuple[float, float]]:
        legal = legal_instants(rule_set, match)
        if not legal:
            return ()
        teams = [[ticket_of(each, 0) for each in team] for team in match.teams.values()]
        since = rules.ready_at(teams)
        return [(max(start, since), end) for start, end in legal if end > since < math.inf]

    return instants


def divisions(rule_set: RuleSet, pool: Sequence[CandidateTicket]) -> Iterator[CandidateMatch]:
    """Yield every way to put tickets into teams that some age allows."""
    names = rule_set.scope.all_teams()
    most = dict[str, int]()
    for team in rule_set.teams:
        sizes = [team.players_max]
        for each in rule_set.expansions:
            if isinstance(each, TeamExpansion) and team.name in each.teams:
                sizes += [int(s.value) for s in each.steps if each.field == "players_max"]
        most |= dict.fromkeys(team.names(), max(sizes))
    for places in product((None, *names), repeat=len(pool)):
        teams: dict[str, tuple[CandidateTicket, ...]] = dict.fromkeys(names, ())
        for ticket, place in zip(pool, places, strict=True):
            if place is not None:
                teams[place] += (ticket,)
        if all(sum(len(t.players) for t in teams[n]) <= most[n] for n in names) and any(places):
            yield CandidateMatch(teams=teams)


def faults_of_play(
    rule_set: RuleSet,
    pool: Sequence[CandidateTicket],
    matches: Sequence[tuple[float, CandidateMatch]],
    instants: Callable[[CandidateMatch], Sequence[tuple[float, float]]] | None = None,
) -> list[str]:
    """Return what is wrong with matches: illegal, late, or left unmade."""
    faults = [
        f"illegal at {at:g}: {match}" for at, match in matches if not is_legal(rule_set, match, at)
    ]
    if instants is not None:
        faults += [
            f"not allowed at {at:g} by rules beside: {match}"
            for at, match in matches
            if not any(start <= at < end for start, end in instants(match))
        ]
    possible = []
    for match in divisions(rule_set, pool):
        legal = legal_instants(rule_set, match) if instants is None else instants(match)
        if legal:
            possible.append((frozenset(each.id for each in match.tickets()), legal))
    gone: set[str] = set()
    before = -math.inf
    for at, match in [*matches, (math.inf, None)]:
        waiting = [legal for ids, legal in possible if not ids & gone]
        # A match is late if another was legal all the time from its first instant on.
        first = min((first_from(legal, before) for legal in waiting), default=math.inf)
        if at > first + LATE_MAX:
            faults.append(f"legal from {first:g}, made at {at:g}")
        if match is not None:
            gone |= {each.id for each in match.tickets()}
            before = at
    return faults


def left_unmade(
    rule_set: RuleSet,
    pool: Sequence[CandidateTicket],
    matches: Sequence[tuple[float, CandidateMatch]],
) -> list[CandidateMatch]:
    """Return matches of those who are left over that stay legal for ever."""
    gone = {each.id for _, match in matches for each in match.tickets()}
    left = [each for each in pool if each.id not in gone]
    found = []
    for match in divisions(rule_set, left):
        legal = legal_instants(rule_set, match)
        if legal and legal[-1][1] == math.inf:
            found.append(match)
    return found


def first_from(legal: Sequence[tuple[float, float]], since: float) -> float:
    """Return the first legal instant at or after another that lasts long enough to be met."""
    for start, end in legal:
        if end > since:
            return max(start, since)
    return math.inf

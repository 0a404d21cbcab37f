"""What is said of a waiting ticket is true: held to the rules, the objective and a live engine."""

import math
import re
from collections.abc import Iterator

import msgspec
import pytest

from evenmatch.criteria.objective import Objective
from evenmatch.criteria.rules import Rules
from evenmatch.engine.engine import Engine
from evenmatch.explain import pair_columns as places
from evenmatch.explain.explanations import Explainer
from evenmatch.explain.snapshot import QueueSnapshot
from evenmatch.model.events import Matched
from evenmatch.model.explanation import Prospect, QueuePart
from evenmatch.model.inputs import Advance, Configure, Enqueue
from evenmatch.model.queue import Criterion, Expansion, Format, Queue, Rule, Sample, Scale
from evenmatch.model.ticket import NewTicket, Ticket
from evenmatch.policies.registry import parse_policy
from evenmatch.testing import rule
from evenmatch.testing.scripts import QUEUES, draw_script
from tests.extent import extent, more

pytestmark = more

TABLE = Sample(quantiles=(1000.0, 1125.0, 1250.0, 1500.0, 2000.0))
RATING = Criterion("spread", "rating", scale=Scale(min=1000.0, max=1400.0))
STEPS = Expansion(steps=((4.0, 1.0),))
STEPS_TO_TWO = Expansion(steps=((3.0, 2.0),))
MORE: tuple[Queue, ...] = (
    Queue("either", criteria=(RATING,), rules=(rule(limit=50, rate=9.0, accept="either"),)),
    Queue(
        "shares",
        rules=(
            rule(limit=0.0625, rate=0.015625, unit="relative", accept="either"),
            Rule("same", "mode", expand=STEPS),
        ),
    ),
    Queue(
        "bent",
        criteria=(Criterion("mean_gap", "rating", scale=Scale("log", knee=100.0, max=400.0)),),
        rules=(
            Rule("mean_gap", "rating", 60.0, expand=Expansion(curve=((1.0, 60.0), (9.0, 300.0)))),
            Rule("imbalance", "rating", 40.0, expand=Expansion(rate=20.0, max=250.0)),
        ),
    ),
    Queue(
        "fair",
        rules=(
            Rule("pair_limit", "meetings", 1.0, expand=Expansion(steps=((4.0, 2.0),))),
            Rule("household_limit", "household", 1.0),
        ),
    ),
    Queue(
        "joint",
        criteria=(
            Criterion("latency", "latency", pairs="region"),
            Criterion("host_options", "connect"),
            Criterion("same", "mode"),
        ),
        rules=(
            Rule("latency", "latency", 60.0, expand=Expansion(rate=10.0), pairs="region"),
            Rule("host_options", "connect", 1.0, expand=Expansion(steps=((5.0, 2.0),))),
        ),
    ),
    Queue(
        "regions",
        Format((2, 2)),
        (RATING,),
        (
            Rule("latency", "latency", 70.0, expand=Expansion(rate=10.0), pairs="region"),
            Rule("overlap", "words", expand=STEPS),
        ),
    ),
    Queue(
        "closing",
        criteria=(Criterion("latency", "latency", pairs="region"),),
        rules=(
            Rule("latency", "latency", 40.0, expand=Expansion(rate=4.0, max=75.0), pairs="region"),
            Rule("overlap", "words", expand=STEPS),
        ),
    ),
    Queue(
        "closed",
        Format((2, 2)),
        (Criterion("latency", "latency", pairs="region"),),
        (Rule("latency", "latency", 40.0, expand=Expansion(rate=4.0, max=80.0), pairs="region"),),
    ),
    Queue(
        "near",
        Format((3, 3)),
        rules=(
            Rule("latency", "latency", 130.0, expand=Expansion(rate=10.0), pairs="all"),
            Rule("avoid", "avoid"),
            Rule("rematch", "recent", expand=STEPS, matches=2),
            Rule("mean_gap", "rating", 150.0, expand=Expansion(rate=20.0)),
        ),
    ),
    Queue(
        "some",
        Format((2, 2), party_sizes=(1, 2)),
        (Criterion("imbalance", "rating", scale=Scale("none")),),
        (
            Rule("imbalance", "rating", 50.0, expand=Expansion(rate=15.0), measure="sum"),
            rule("blitz", 40, rate=10, accept="either"),
            rule(limit=0.25, rate=0.03, unit="percentile", sample=TABLE),
        ),
    ),
    Queue(
        "company",
        Format((1, 1, 1, 1), players_min=(1, 1, 0, 0)),
        (RATING,),
        (Rule("fullness", limit=0.5, expand=STEPS), rule(limit=150, rate=20.0)),
    ),
    Queue(
        "homes",
        rules=(
            Rule("household_limit", "household", 1.0),
            Rule("pair_limit", "meetings", 1.0, expand=Expansion(steps=((3.0, 2.0), (6.0, 9.0)))),
        ),
    ),
    Queue(
        "neighbours",
        Format((2, 2)),
        rules=(
            Rule("household_limit", "household", 1.0, pairs="all", expand=STEPS_TO_TWO),
            Rule("pair_limit", "meetings", 1.0),
        ),
    ),
    Queue("sided-pairs", Format((2, 2), ("cat", "mouse")), rules=(rule(limit=150, rate=20.0),)),
)
ALL = [msgspec.structs.replace(q, wait_max=None, on_deadline="expire") for q in (*QUEUES, *MORE)]
DUELS = [queue for queue in ALL if queue.format.is_duel]
# Where both have to accept, and each by a limit that the other's value does not move.
MUTUAL = [
    queue
    for queue in ALL
    if all(each.accept == "both" and each.unit != "relative" for each in queue.rules)
]
SEEDS = range(extent(1, 3))

by_name = pytest.mark.parametrize("queue", ALL, ids=[queue.name for queue in ALL])
of_duels = pytest.mark.parametrize("queue", DUELS, ids=[queue.name for queue in DUELS])


def drawn(queue: Queue, seed: int) -> QueueSnapshot:
    """Return a pool in the midst of a script, as an explanation sees it."""
    steps = draw_script(queue, queue.rules, seed).steps
    tickets = [ticket for step in steps for ticket in step.enters]
    now = steps[-1].at + (0.0, 0.5, 3.0)[seed % 3]
    waiting = {ticket.id: ticket for ticket in tickets}
    return QueueSnapshot(
        queue, Objective(queue), waiting, {}, now, math.inf, "", False, False, False, None
    )


def parts(queue: Queue) -> Iterator[tuple[QueueSnapshot, Ticket, QueuePart]]:
    for seed in SEEDS:
        scene, explainer = drawn(queue, seed), Explainer()
        for ticket in list(scene.tickets.values())[seed % 3 :: 3]:
            yield scene, ticket, explainer.part(scene, ticket.id)


def others(scene: QueueSnapshot, ticket: Ticket) -> list[Ticket]:
    return [each for each in scene.tickets.values() if each is not ticket]


def only(queue: Queue, each: Rule) -> Rules:
    """Return one rule of a queue, without its sides."""
    form = msgspec.structs.replace(queue.format, sides=())
    return Rules(msgspec.structs.replace(queue, format=form, rules=(each,)))


@pytest.mark.parametrize("known_by", [1, 48])
@by_name
def test_each_rule_blocks_whom_the_reference_says(
    queue: Queue, known_by: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "KNOWN_BY", known_by)
    rules = [only(queue, each) for each in queue.rules]
    whole = Objective(queue).rules
    for scene, ticket, part in parts(queue):
        blocked = [
            {o.id for o in others(scene, ticket) if r.pair_ready_at(o, ticket) > scene.now}
            for r in rules
        ]
        never = [
            {o.id for o in others(scene, ticket) if r.pair_ready_at(o, ticket) == math.inf}
            for r in rules
        ]
        assert part.compared == part.others == len(scene.tickets) - 1
        assert [told.blocks for told in part.rules] == [len(each) for each in blocked]
        assert [told.blocks_forever for told in part.rules] == [len(each) for each in never]
        for r, told, apart in zip(rules, part.rules, blocked, strict=True):
            if told.accept == "either":
                assert told.blocks_by_theirs == 0
            elif told.unit != "relative":
                # Beside others who have waited for ever, only the ticket's own limit counts.
                old = [
                    msgspec.structs.replace(o, enqueued_at=-1e9)
                    for o in others(scene, ticket)
                    if o.id in apart
                ]
                within = sum(r.pair_ready_at(o, ticket) <= scene.now for o in old)
                assert told.blocks_by_theirs == within
        free = {o.id for o in others(scene, ticket) if not any(o.id in each for each in blocked)}
        ready = [o for o in others(scene, ticket) if whole.pair_ready_at(o, ticket) <= scene.now]
        assert free.issuperset(each.id for each in ready)
        if not part.seats.misfits:
            assert part.allowed == len(free)
            for at, told in enumerate(part.rules):
                rest = [each for place, each in enumerate(blocked) if place != at]
                assert told.blocks_alone == len(blocked[at].difference(*rest))
        else:
            assert part.allowed <= len(free)


@of_duels
def test_a_duel_is_allowed_exactly_where_the_objective_allows_it(queue: Queue) -> None:
    objective = Objective(queue)
    for scene, ticket, part in parts(queue):
        seated = [objective.seat(aged(o, ticket), now=scene.now) for o in others(scene, ticket)]
        legal = [each for each in seated if each is not None and each.ready_at <= scene.now]
        assert part.allowed == len(legal)
        if not legal:
            assert part.now is None
            continue
        least = min(each.criteria_cost for each in legal)
        assert part.now is not None
        assert part.now.is_exact
        assert part.now.criteria_cost == least


@of_duels
def test_the_first_duel_to_become_legal_is_the_first(queue: Queue) -> None:
    objective = Objective(queue)
    for scene, ticket, part in parts(queue):
        seated = [objective.seat(aged(o, ticket), now=scene.now) for o in others(scene, ticket)]
        ahead = [each.ready_at for each in seated if each is not None]
        first = min((at for at in ahead if at > scene.now), default=math.inf)
        assert (math.inf if part.later is None else part.later.at) == first


@by_name
def test_a_match_said_to_be_legal_is_legal(queue: Queue) -> None:
    objective = Objective(queue)
    found = 0
    for scene, ticket, part in parts(queue):
        if part.now is None:
            continue
        found += 1
        assert ticket.id in part.now.tickets
        seating = objective.seat([scene.tickets[each] for each in part.now.tickets], now=scene.now)
        assert seating is not None
        assert seating.ready_at <= scene.now
        assert part.now.at == seating.ready_at
        assert part.now.quality == seating.quality
        assert part.now.cost == objective.cost(seating, 0, scene.now)
    assert found


ONE_EACH = [q for q in DUELS if len({r.attribute for r in q.rules}) == len(q.rules)]


@pytest.mark.parametrize("queue", ONE_EACH, ids=[queue.name for queue in ONE_EACH])
def test_a_limit_that_is_named_would_let_in_as_many_as_told(queue: Queue) -> None:
    today = Objective(queue).rules
    named = r"a limit on (\w+) of ([\d.,]+) instead of .* would allow ([\d,]+) more candidate"
    for scene, ticket, part in parts(queue):
        for change in part.changes:
            found = re.match(named, change)
            if found is None:
                continue
            attribute, limit, more = found.groups()
            wider = [
                Rule(each.kind, attribute, float(limit.replace(",", "")), accept=each.accept)
                if each.attribute == attribute and each.unit == "difference"
                else each
                for each in queue.rules
            ]
            then = Objective(msgspec.structs.replace(queue, rules=tuple(wider))).rules
            let_in = [
                other
                for other in others(scene, ticket)
                if then.pair_ready_at(other, ticket) <= scene.now
                and today.pair_ready_at(other, ticket) > scene.now
            ]
            assert len(let_in) == int(more.replace(",", "")), change


@by_name
def test_an_engine_makes_the_next_match_at_the_instant_told_and_not_before(queue: Queue) -> None:
    for scene, ticket, part in parts(queue):
        if part.later is not None:
            assert ticket.id in part.later.tickets
            assert part.later.at > scene.now
            assert first_match(queue, scene, part.later) == part.later.at


@pytest.mark.parametrize("queue", MUTUAL, ids=[queue.name for queue in MUTUAL])
def test_everybody_is_accepted_by_both_or_by_whom_it_says(queue: Queue) -> None:
    rules = Objective(queue).rules
    for scene, ticket, part in parts(queue):
        both = mine = theirs = 0
        for other in others(scene, ticket):
            # Whoever came long ago accepts whatever the other's wait allows, and the other way.
            long_ago = -1e9
            me, them = (msgspec.structs.replace(t, enqueued_at=long_ago) for t in (ticket, other))
            i_do = rules.pair_ready_at(ticket, them) <= scene.now
            they_do = rules.pair_ready_at(me, other) <= scene.now
            both += i_do and they_do
            mine += i_do and not they_do
            theirs += they_do and not i_do
        told = part.acceptance
        if not part.seats.misfits:
            assert (told.both, told.only_you, told.only_they) == (both, mine, theirs)


@by_name
def test_sentences_are_few_and_each_is_said_once(queue: Queue) -> None:
    for _, _, part in parts(queue):
        said = re.split(r"(?<=\.) (?=[A-Z])", part.summary)
        assert said[0].startswith("This ticket has waited ")
        assert all(each.endswith(".") for each in said)
        assert len(said) == len(set(said)) <= 5
        names = re.findall(r"[Tt]he limit on \w+|[Tt]he rule \w+ \w+", said[0])
        assert len(names) == len(set(names))


@by_name
def test_a_line_of_the_list_says_what_the_ticket_is_told_alone(queue: Queue) -> None:
    for seed in SEEDS:
        scene, explainer = drawn(queue, seed), Explainer()
        for line in Explainer().longest(scene, len(scene.tickets)):
            part = explainer.part(scene, line.ticket)
            assert (line.code, line.summary) == (part.reason.code, part.summary)


def aged(*tickets: Ticket) -> list[Ticket]:
    return sorted(tickets, key=lambda ticket: ticket.age_key)


def first_match(queue: Queue, scene: QueueSnapshot, prospect: Prospect) -> float:
    """Return when a greedy engine with just these tickets makes a match of them."""
    engine = Engine(lambda queue: parse_policy("greedy"))
    engine.step(Configure(0.0, (queue,)))
    for ticket in aged(*(scene.tickets[each] for each in prospect.tickets)):
        while engine.next_wakeup < ticket.enqueued_at:
            engine.step(Advance(engine.next_wakeup))
        new = NewTicket(ticket.players, (), ticket.attributes)
        record = engine.step(Enqueue(ticket.enqueued_at, (new,)))
        assert not any(isinstance(event, Matched) for event in record.events)
    while engine.next_wakeup < math.inf:
        record = engine.step(Advance(engine.next_wakeup))
        for event in record.events:
            if isinstance(event, Matched):
                return event.match.at
    return math.inf

"""Explanations over HTTP: what they say, what is kept of them, and what is refused."""

import asyncio
from typing import Any

import msgspec
import pytest

from evenmatch.explain import explanations as told
from evenmatch.model.explanation import Explanation, LongestWaiting
from evenmatch.model.inputs import Accept as Accepting
from evenmatch.model.inputs import Cancel, Configure, Enqueue
from evenmatch.model.queue import Expansion, Queue, ReadyCheck, Rule
from evenmatch.model.ticket import NewTicket, Player, Rating, Value
from evenmatch.rules.flexmatch.compile import compile_rule_set
from evenmatch.rules.flexmatch.reader import load_rule_set
from evenmatch.server.http.ticket_routes import WAITING_MOST
from evenmatch.server.runtime.services import Services
from evenmatch.server.views import explanations
from tests.flexmatch_kit import published
from tests.unit.server.test_app import call, play, started

WIDENS = Rule("spread", "rating", 100.0, expand=Expansion(rate=1.0, max=400.0))
DUEL = Queue("duel", rules=(WIDENS,), policy="greedy")


async def enter(parts: Services, *ratings: float) -> list[str]:
    first = parts.runtime.engine.tables.counters.accepted
    new = tuple(
        NewTicket((Player(f"p{first + at}", Rating(rating)),)) for at, rating in enumerate(ratings)
    )
    results = await parts.runtime.ask(Enqueue(parts.runtime.now(), new))
    return [each.id for each in results]


async def explained(parts: Services, ticket: str) -> Explanation:
    status, body = await call(parts, "GET", f"/v1/tickets/{ticket}/explain")
    assert status == 200, body
    return msgspec.convert(body, Explanation)


async def longest(parts: Services, query: str = "") -> LongestWaiting:
    status, body = await call(parts, "GET", "/v1/queues/duel/waiting", query=query)
    assert status == 200, body
    return msgspec.convert(body, LongestWaiting)


def test_a_ticket_by_a_rule_set_is_told_which_rules_say_no_and_until_when() -> None:
    compiled = compile_rule_set(load_rule_set(published("02")))
    queue = compiled.queue(Queue("duel", policy="by_rules", on_deadline="keep"))

    async def scene() -> None:
        parts = await started(queue)
        hunter: dict[str, Value] = {"wantsToBeMonster": 0.0, "desiredSkillOfMonster": 10.0}
        monster: dict[str, Value] = {"wantsToBeMonster": 1.0, "skill": 20.0}
        new = [NewTicket((Player(f"h{at}", None, hunter),)) for at in range(4)]
        new.append(NewTicket((Player("m", None, monster),)))
        results = await parts.runtime.ask(Enqueue(parts.runtime.now(), tuple(new)))
        (part,) = (await explained(parts, results[0].id)).queues
        assert part.reason.code == "not_yet"
        assert part.later is not None
        born = parts.runtime.engine.tables.waiting[results[4].id].ticket.enqueued_at
        assert part.later.at == pytest.approx(born + 30.0, abs=0.001)
        assert "until then team sizes say no" in part.summary

    play(scene)


def test_a_waiting_ticket_is_told_what_keeps_it_and_when_that_ends() -> None:
    async def scene() -> None:
        parts = await started(DUEL)
        one, two = await enter(parts, 1500, 1750)
        found = await explained(parts, one)
        (part,) = found.queues
        assert (found.state, found.players, found.check) == ("waiting", 1, None)
        assert (part.others, part.allowed, part.rules[0].blocks) == (1, 0, 1)
        assert part.later is not None
        assert part.later.tickets == (one, two)
        born = parts.runtime.engine.tables.waiting[one].ticket.enqueued_at
        assert part.later.at == born + 150.0
        assert part.reason.code == "not_yet"
        assert "the limit on rating (100 now) keeps the only other ticket away" in found.summary
        assert part.changes[-1].startswith("a limit on rating of 250 instead of 100")
        assert (
            "would allow 1 more candidate; this ticket's own is as wide in 150 s"
            in part.changes[-1]
        )
        await parts.runtime.stop()

    play(scene)


def test_who_is_alone_paused_matched_or_cancelled_is_told_so() -> None:
    async def scene() -> None:
        parts = await started(DUEL)
        runtime = parts.runtime
        (lonely,) = await enter(parts, 1500)
        found = await explained(parts, lonely)
        assert found.queues[0].reason.code == "alone"
        assert "nobody else waits there" in found.summary
        await runtime.ask(Configure(runtime.now(), (DUEL,), pause=("duel",), version=2))
        found = await explained(parts, lonely)
        assert found.queues[0].reason.code == "paused"
        assert found.queues[0].changes[0] == "queue duel would have to be resumed"
        await runtime.ask(Configure(runtime.now(), (DUEL,), version=3))
        await enter(parts, 1510)
        found = await explained(parts, lonely)
        assert (found.state, found.queues) == ("matched", ())
        assert found.match is not None
        assert found.match in found.summary
        (gone,) = await enter(parts, 1500)
        await runtime.ask(Cancel(runtime.now(), gone))
        assert (await explained(parts, gone)).summary.startswith("This ticket was cancelled")
        await runtime.stop()

    play(scene)


def blocks(found: Explanation) -> dict[str, int]:
    """Return how many candidates each rule blocks."""
    return {each.rule: each.blocks for each in found.queues[0].rules}


def test_rules_against_sniping_are_named_where_they_block() -> None:
    rules = (Rule("pair_limit", "meetings", 1.0), Rule("household_limit", "household", 1.0))

    async def scene() -> None:
        parts = await started(msgspec.structs.replace(DUEL, rules=rules, commit_jitter=3600.0))
        runtime = parts.runtime
        people = [("a", {"meetings": {"b": 1.0}}), ("b", {}), ("c", {"household": "h"})]
        people += [("d", {"household": "h"})]
        ids = []
        for name, facts in people:
            player = Player(name, Rating(1500.0), facts)  # type: ignore[arg-type]
            (view,) = await runtime.ask(Enqueue(runtime.now(), (NewTicket((player,)),)))
            ids.append(view.id)
        first = await explained(parts, ids[0])
        assert blocks(first) == {"pair_limit": 1, "household_limit": 0}
        assert "the queue holds newcomers back for a moment drawn by chance." in first.summary
        assert first.queues[0].reason.code == "delayed"
        assert first.queues[0].reason.until is None
        assert blocks(await explained(parts, ids[2])) == {"pair_limit": 0, "household_limit": 1}
        await runtime.stop()

    play(scene)


def test_a_proposed_ticket_is_told_whom_its_match_waits_for() -> None:
    async def scene() -> None:
        parts = await started(msgspec.structs.replace(DUEL, accept=ReadyCheck()))
        runtime = parts.runtime
        one, two = await enter(parts, 1500, 1510)
        found = await explained(parts, one)
        assert found.state == "proposed"
        assert found.check is not None
        assert (found.check.accepted, found.check.awaited) == ((), (one, two))
        assert "This ticket has to accept match s0-m1 within 15 s" in found.summary
        await runtime.ask(Accepting(runtime.now(), found.check.match, one))
        found = await explained(parts, one)
        assert found.check is not None
        assert (found.check.accepted, found.check.awaited) == ((one,), (two,))
        assert "s0-m1; 1 other ticket has yet to accept it." in found.summary
        await runtime.stop()

    play(scene)


def test_the_longest_waiting_come_first_with_a_sentence_each() -> None:
    async def scene() -> None:
        parts = await started(DUEL)
        ids = await enter(parts, *(1500 + 600 * at for at in range(30)))
        found = await longest(parts)
        assert (found.waiting, [each.ticket for each in found.tickets]) == (30, ids[:20])
        assert [each.code for each in found.tickets] == ["never"] * 20
        assert found.tickets[0].summary.endswith(
            "in duel: the limit on rating (100 now) keeps all 29 other tickets away. Even at its "
            "widest, 400, the limit on rating lets none of them in, so only newcomers can help."
        )
        assert len((await longest(parts, "most=3")).tickets) == 3
        assert len((await longest(parts, "most=1000")).tickets) == 30
        await parts.runtime.stop()

    play(scene)


def test_what_was_told_is_told_again_until_the_pool_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[str] = []
    look = told._part

    def counted(*given: Any, **more: Any) -> Any:
        looks.append("look")
        return look(*given, **more)

    async def scene() -> None:
        monkeypatch.setattr(told, "_part", counted)
        parts = await started(DUEL)
        one, *_ = await enter(parts, 1500, 2500, 3500)
        first = await explained(parts, one)
        assert await explained(parts, one) == first
        assert len(looks) == 1
        many = await asyncio.gather(*(longest(parts) for _ in range(5)))
        assert all(each == many[0] for each in many)
        assert len(looks) == 1 + 3
        await enter(parts, 4500)
        assert (await explained(parts, one)).queues[0].others == 3
        assert len((await longest(parts)).tickets) == 4
        assert len(looks) == 1 + 3 + 1 + 4
        await parts.runtime.stop()

    play(scene)


def test_of_a_large_pool_one_newcomer_in_a_hundred_changes_nothing_that_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # However long the test takes, what was told is fresh.
    monkeypatch.setattr(explanations, "FRESH", 3_600.0)

    async def scene() -> None:
        parts = await started(DUEL)
        one, *_ = await enter(parts, *(1500 + 600 * at for at in range(150)))
        first = await explained(parts, one)
        await enter(parts, 200_000)
        assert await explained(parts, one) == first
        await enter(parts, 201_000)
        assert (await explained(parts, one)).queues[0].others == 151
        await parts.runtime.stop()

    play(scene)


def test_too_many_questions_at_once_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explanations, "ASKING_MAX", 3)

    async def scene() -> None:
        parts = await started(DUEL)
        (one,) = await enter(parts, 1500)
        path = f"/v1/tickets/{one}/explain"
        answers = await asyncio.gather(*(call(parts, "GET", path) for _ in range(5)))
        assert sorted(status for status, _ in answers) == [200, 200, 200, 429, 429]
        assert (await call(parts, "GET", path))[0] == 200
        await parts.runtime.stop()

    play(scene)


@pytest.mark.parametrize(
    ("path", "query", "status", "code"),
    [
        ("/v1/tickets/s0-9/explain", "", 404, "unknown_ticket"),
        ("/v1/tickets/s0-1/explain", "deep=1", 400, "invalid_request"),
        ("/v1/queues/chess/waiting", "", 404, "unknown_queue"),
        ("/v1/queues/duel/waiting", "most=0", 400, "invalid_request"),
        ("/v1/queues/duel/waiting", f"most={WAITING_MOST + 1}", 400, "invalid_request"),
        ("/v1/queues/duel/waiting", "most=-1e3", 400, "invalid_request"),
    ],
)
def test_what_cannot_be_explained_is_refused(path: str, query: str, status: int, code: str) -> None:
    async def scene() -> None:
        parts = await started(DUEL)
        await enter(parts, 1500)
        answer = await call(parts, "GET", path, query=query)
        assert (answer[0], answer[1]["error"]) == (status, code)
        await parts.runtime.stop()

    play(scene)

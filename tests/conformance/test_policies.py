"""The policy kit on every policy of the package, and on functions as users write them.

Each policy is checked on one random script: with its defaults on every queue but the dear ones,
with other parameters on a third of them, and policies that search on two. What is played with
hundreds of tickets, its pace and its evaluations, is checked on one queue in six of them, for each
policy on others, and of policies that search with their first parameters alone. `make test-long`
checks half the policies each day on one script on every queue, and those that search or are dear
on a few of them. `make test-full` tries all policies on all queues, with defaults on six scripts,
with other parameters on three. What users get, twelve, takes three times as long:

    EVENMATCH_MACHINE=long .venv/bin/python -m pytest -m long tests/conformance
"""

import os
from collections.abc import Iterator, Sequence

import pytest

import evenmatch.testing
from evenmatch.errors import ConfigError
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Policy, policy
from evenmatch.policies.greedy import Greedy
from evenmatch.policies.hooks import evaluations_limit
from evenmatch.policies.registry import POLICIES, parse_policy
from evenmatch.testing import check_policy, rule
from evenmatch.testing.play import Case
from evenmatch.testing.policies import SEEDS, _refusal
from evenmatch.testing.policy_promises import PROMISES, _mirrored, check_evaluations
from evenmatch.testing.scripts import QUEUES, RULED_QUEUES
from tests.extent import extent, in_turn, kept, more
from tests.small_kit import check_small

IS_LONG = os.environ.get("EVENMATCH_MACHINE") == "long"
SPECS = [
    "by_rules",
    "greedy",
    "window",
    "window:pick=nearest",
    "window:limit=100",
    "window:limit=100,rate=12.5",
    "window:limit=100,rate=7,limit_max=220,pick=nearest",
    "window:limit=60,steps=2-120+5-180+9-500",
    "window:limit=150,steps=60-250+120-350,limit_max=300",
    "window:limit=0.05,rate=0.01,unit=relative",
    "window:limit=100,rate=12.5,accept=either",
    "window:limit=50,steps=2-120+5-180+9-500,accept=either,pick=nearest",
    "window:limit=0.05,rate=0.01,unit=relative,accept=either",
    "window:limit=100,rate=12.5,every=1.5",
    "window:limit=100,rate=12.5,every=0.7,accept=either,pick=nearest",
    "window:limit=0.05,steps=10-0.1+20-0.15,unit=relative,pick=nearest",
    "periodic",
    "periodic:rounds_of=1",
    "periodic:rounds_of=2",
    "periodic:rounds_of=5,sort=rating",
    "closest_random",
    "sweep",
    "sweep:every=3.3,limit=60,rate=5,limit_max=200",
    "closest_random:every=3,limit=100",
    "closest_random:every=3.3,limit=200,candidates=2",
    "adaptive_brackets",
    "adaptive_sides",
    "adaptive_sides:span=3",
    "adaptive_sides:span=5,reserve=0.3,reopen=0.5",
    "adaptive_brackets:width=50,split_at=2,merge_below=1,frame=3",
    "adaptive_brackets:width=200,split_at=1,merge_below=1,frame=2.7",
    "weighted",
    "weighted:sigma=60,wait=0.1,floor=0.4",
    "weighted:every=5",
    "weighted:sigma=50,recency=2,floor=0.3,every=3.3",
    "virtual_rating",
    "virtual_rating:rate=7,limit=50",
    "virtual_rating:rate=11.3,limit=20,toward=median",
    "lookahead",
    "lookahead:horizon=2",
    "rounds:every=7,effort=10",
    "rounds:players=6,wait_max=9,effort=5,parts=1,skips=1",
    "threshold:effort=20",
    "threshold:quality=0.95,relax=0.01,by=rating,wait_max=20,effort=10",
    "rolling:effort=30",
    "rolling:effort=20,spread=1,wait_max=20,target_wait=5",
    "first_come",
    "first_come:order=lifo,shape=mirrored",
    "first_come:order=packing",
    "first_come:order=packing,shape=unmixed",
    "first_come:order=largest",
    "first_come:order=smallest",
    "first_come:order=head_of_line",
    "first_come:order=max_weight",
    "first_come:order=reserve,theta=4",
    "price",
    "price:c=2,grow=0.5",
    "price:theta=0.2",
    "price:rate=0.5",
    "gap_value",
    "gap_value:rate=0.5",
    "group_price",
    "group_price:theta=0.5,grow=0",
    "delay_greedy",
    "delay_greedy:factor=0.25",
    "periodic:adaptive=true",
    "multi_queue",
    "multi_queue:brackets=4",
    "difference_wait",
    "difference_wait:factor=0",
    "difference_wait:factor=8,origin=pair,power=2",
    "patient",
    "imbalance_threshold",
    "imbalance_threshold:delta=0.2",
]


SEARCHING = ("rolling", "rounds", "threshold")
DEAR = {
    "greedy": ("lagging", "fair", "parties"),
    "sweep": ("stepped", "relative", "ranked", "sided", "wished", "paired"),
    "weighted:every=5": ("stepped", "paired", "sided", "kept"),
}
"""Where a policy has so many tickets or searches so much that a check takes seconds."""
CROWDS_EVERY = 6
"""Of the queues of a policy, each so many-th is checked with crowds: they take most of the time."""


def is_variant(spec: str) -> bool:
    """Return whether a policy that searches is checked with other parameters before."""
    name = spec.partition(":")[0]
    return name in SEARCHING and spec != next(each for each in SPECS if each.startswith(name))


def accepted_queues(spec: str) -> list[Queue]:
    policy = parse_policy(spec)
    return [queue for queue in (*QUEUES, *RULED_QUEUES) if _refusal(policy, queue, spec) is None]


def queues_of(spec: str) -> list[Queue]:
    """Return the queues on which `make test` checks a policy."""
    taken = accepted_queues(spec)
    if spec.startswith(SEARCHING):
        roles = ("roles",) if spec == "rounds:every=7,effort=10" else ()
        rated = () if is_variant(spec) else ("rated",)
        return [queue for queue in taken if queue.name in ("flexible", *rated, *roles)]
    cheap = [queue for queue in taken if queue.name not in DEAR.get(spec, ())]
    return cheap[SPECS.index(spec) % min(3, len(cheap)) :: 3] if ":" in spec else cheap


@pytest.mark.parametrize("spec", SPECS)
def test_policy_keeps_every_promise_on_one_script(spec: str) -> None:
    chosen = queues_of(spec)
    assert chosen
    crowded = SPECS.index(spec) % min(len(chosen), CROWDS_EVERY) if not is_variant(spec) else -1
    for at, queue in enumerate(chosen):
        if at % CROWDS_EVERY == crowded:
            check_policy(spec, queue=queue, seeds=range(1))
        else:
            check_small(Case(parse_policy(spec), spec, queue, 0))


@pytest.mark.long
@pytest.mark.parametrize("spec", SPECS if IS_LONG else in_turn(SPECS, 3))
def test_policy_keeps_every_promise(spec: str) -> None:
    every = 1 if IS_LONG or not (spec.startswith(SEARCHING) or spec in DEAR) else extent(16, 1)
    few = range(1 if spec.startswith(SEARCHING) else extent(1, 3 if ":" in spec else 6))
    if every == 1:
        check_policy(spec, seeds=SEEDS if IS_LONG else few)
    else:
        for queue in accepted_queues(spec)[SPECS.index(spec) % every :: every]:
            check_policy(spec, queue=queue, seeds=few)


def test_every_policy_of_the_registry_is_checked() -> None:
    assert {spec.partition(":")[0] for spec in SPECS} == set(POLICIES)


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_every_policy_of_the_registry_declares_its_evaluations(name: str) -> None:
    assert evaluations_limit(parse_policy(name), 100) is not None


@pytest.mark.parametrize("most", [1_000, pytest.param(2_000, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "queue", kept(QUEUES, lambda at: at % 3 == 0 and QUEUES[at].name not in DEAR["greedy"])
)
def test_greedy_keeps_to_a_smaller_bound(queue: Queue, most: int) -> None:
    check_evaluations(Case(Greedy(evaluations_max=most), "greedy", queue, 1))


@policy()
def in_pairs(pool: Sequence[Ticket], now: float) -> Iterator[tuple[Ticket, Ticket]]:
    return zip(pool[::2], pool[1::2], strict=False)


@policy(every=2.0)
def like_with_like(pool: Sequence[Ticket], now: float) -> Iterator[tuple[Ticket, Ticket]]:
    by_rating = sorted(pool, key=lambda t: t.players[0].rating.mean)  # type: ignore[union-attr]
    return zip(by_rating[::2], by_rating[1::2], strict=False)


@policy(every=0.1)
def after_three_seconds(pool: Sequence[Ticket], now: float) -> list[list[str]]:
    ready = [ticket.id for ticket in pool if now - ticket.enqueued_at >= 3.0]
    return [ready[:2]] if len(ready) >= 2 else []


@policy()
def one_pair_at_a_time(pool: Sequence[Ticket], now: float) -> list[Sequence[Ticket]]:
    return [pool[:2]] if len(pool) >= 2 else []


@policy()
def in_threes(pool: Sequence[Ticket], now: float) -> list[Sequence[Ticket]]:
    return [pool[at : at + 3] for at in range(0, len(pool) - 2, 3)]


@more
@pytest.mark.parametrize(
    "function", [in_pairs, like_with_like, after_three_seconds, one_pair_at_a_time]
)
def test_function_keeps_every_promise(function: Policy) -> None:
    check_policy(function, seeds=range(extent(3, 12)))


def test_function_is_checked_on_the_queue_that_it_is_for() -> None:
    (three,) = [queue for queue in QUEUES if queue.name == "three"]
    check_policy(in_threes, queue=three)
    with pytest.raises(AssertionError, match="does not fill the teams exactly"):
        check_policy(in_threes)


def test_policy_that_refuses_every_queue_is_not_proven() -> None:
    with pytest.raises(AssertionError, match=r"^at least one queue is accepted: policy window:"):
        check_policy("window:limit=-1")


def test_spec_that_names_no_policy_is_refused() -> None:
    with pytest.raises(ConfigError, match="no policy is called"):
        check_policy("windows")


@more
def test_kit_finds_its_values_in_the_rules_of_a_queue_of_yours() -> None:
    blitz = rule("blitz", 40, rate=10)
    queue = Queue("mine", rules=(blitz, rule("wins", 3, steps=((5.0, 9.0),))))
    check_policy("greedy", queue=queue, seeds=range(extent(3, 12)))


def test_mirrored_ids_sort_the_other_way_round() -> None:
    ids = [f"t{number:02d}" for number in range(30)]
    assert sorted(ids, key=_mirrored) == ids[::-1]
    assert len({_mirrored(name) for name in ids}) == len(ids)


def test_every_promise_is_a_sentence() -> None:
    assert all(len(sentence.split()) >= 4 for sentence in PROMISES)


def test_kit_lists_its_public_names() -> None:
    kit = evenmatch.testing
    assert kit.__all__ == sorted(kit._PUBLIC)
    assert set(kit.__all__) <= set(dir(kit))
    for name in kit.__all__:
        assert getattr(kit, name).__module__ == kit._PUBLIC[name]
    with pytest.raises(AttributeError, match="has no attribute 'check_nothing'"):
        _ = kit.check_nothing

"""`adaptive_sides`: when sides close and open, whose wish is kept, and what a restart knows."""

from __future__ import annotations

import numpy as np
import pytest

from evenmatch.errors import ConfigError
from evenmatch.model.queue import Format, Queue
from evenmatch.model.ticket import Ticket
from evenmatch.policies.adaptive_sides import AdaptiveSides, AdaptiveSidesMatcher, Wishes
from evenmatch.policies.base import Memory
from evenmatch.policies.shared.greedy_matcher import GreedyMatcher
from evenmatch.testing import ticket

SIDES = ("A", "B")
DUEL = Format((1, 1), SIDES)


def queue(*players: int, sizes: tuple[int, ...] = (), choice: str = "prefer") -> Queue:
    return Queue("map", Format(players or (1, 1), SIDES, sizes, side_choice=choice))  # type: ignore[arg-type]


def matcher(
    at: Queue | None = None, memory: Memory | None = None, **parameters: float
) -> AdaptiveSidesMatcher:
    made = AdaptiveSides(**parameters).matcher(at or queue(), seed=0, memory=memory)
    assert isinstance(made, AdaptiveSidesMatcher)
    return made


def enter(at_work: AdaptiveSidesMatcher, number: int, side: str, size: int = 1) -> list[set[str]]:
    """Let a ticket in at its number in seconds; return the matches."""
    came = ticket(f"t{number}", *[1500.0] * size, at=number, sequence=number, side=side)
    at_work.enter(came, float(number))
    return [set(each.tickets) for each in at_work.decide(float(number)).matches]


def wishes(form: Format = DUEL, memory: Memory | None = None, **parameters: float) -> Wishes:
    return Wishes(form, AdaptiveSides(**parameters), memory or {})


def numbered(number: int, side: str, size: int = 1) -> Ticket:
    return ticket(f"t{number}", *[1500.0] * size, sequence=number, side=side)


class TestMeasure:
    def test_before_anybody_came_all_count_as_flexible(self) -> None:
        assert wishes().spares() == [1.0, 1.0]

    def test_spare_of_two_equal_sides_is_flexible_plus_other_less_own(self) -> None:
        rng, measure = np.random.default_rng(5), wishes(span=10_000.0)
        for number, side in enumerate(rng.choice(["A", "B", ""], 100_000, p=[0.5, 0.2, 0.3])):
            measure.note(numbered(number + 1, str(side)), 0.0)
        # Noise of a share measured over 10,000: 0.5 / sqrt(20,000), twice that of a spare.
        assert measure.spares() == pytest.approx([0.3 - 0.3, 0.3 + 0.3], abs=4 * 0.007)

    def test_spare_of_uneven_teams_is_by_seats(self) -> None:
        measure = wishes(Format((1, 4), SIDES), span=1.0)
        measure.note(numbered(1, "A"), 0.0)
        assert measure.spares() == pytest.approx([1.0 - 1.0 / 0.2, 1.0])
        measure.note(numbered(2, "B"), 0.0)
        assert measure.spares() == pytest.approx([1.0, 1.0 - 1.0 / 0.8])

    def test_party_counts_as_its_players(self) -> None:
        parties, solos = (wishes(Format((3, 3), SIDES), span=10.0) for _ in range(2))
        parties.note(numbered(1, "A", 3), 0.0)
        for number in (1, 2, 3):
            solos.note(numbered(number, "A"), 0.0)
        assert parties.spares() == pytest.approx(solos.spares())

    def test_weights_fall_by_e_over_span(self) -> None:
        measure = wishes(memory={"shares": [0.0, 0.0]}, span=1000.0)
        measure.note(numbered(1, "A"), 0.0)
        first = 1.0 - measure.spares()[0]
        for number in range(2, 1002):
            measure.note(numbered(number, ""), 0.0)
        assert (1.0 - measure.spares()[0]) / first == pytest.approx(np.exp(-1.0), rel=1e-3)

    def test_first_players_count_beside_twenty_flexible_ones(self) -> None:
        measure = wishes(span=1e6)
        for number in range(1, 31):
            measure.note(numbered(number, "A"), 0.0)
        # 30 of 50, for half of the seats.
        assert measure.spares() == pytest.approx([1.0 - 2.0 * 30 / 50, 1.0], abs=1e-4)

    def test_those_who_wait_when_the_policy_is_chosen_are_not_counted(self) -> None:
        measure = wishes(span=10.0)
        for number in range(1, 5):
            measure.note(numbered(number, "A"), 9.0)
        assert measure.spares() == [1.0, 1.0]
        came = ticket("t5", 1500.0, at=9, sequence=5, side="B")
        measure.note(came, 9.0)
        assert measure.spares()[0] == 1.0 > measure.spares()[1]
        # From then on whoever is handed in counts, even if it was sent earlier.
        measure.note(numbered(6, "A"), 9.0)
        assert measure.spares()[0] < 1.0

    def test_ticket_that_comes_back_counts_once(self) -> None:
        measure = wishes(span=10.0)
        measure.note(numbered(1, "A"), 0.0)
        before = measure.memory()
        measure.note(numbered(1, "A"), 0.0)
        assert measure.memory() == before


class TestClosing:
    def test_side_closes_below_reserve_and_opens_again_from_reopen_on(self) -> None:
        measure = wishes(span=10.0, reserve=0.2, reopen=0.6)
        number, closed_at, opened_at = 0, 0.0, 0.0
        while not measure.closed:
            number += 1
            before = measure.spares()[0]
            measure.note(numbered(number, "A"), 0.0)
            assert measure.closed == (frozenset("A") if measure.spares()[0] < 0.2 else frozenset())
            closed_at = before
        assert closed_at >= 0.2 > measure.spares()[0]
        while measure.closed:
            number += 1
            before = measure.spares()[0]
            measure.note(numbered(number, ""), 0.0)
            opened_at = before
        assert opened_at < 0.6 <= measure.spares()[0]

    def test_defaults_notice_a_crowded_side_within_some_hundred_players(self) -> None:
        closed_at = []
        for seed in range(20):
            rng, measure, number = np.random.default_rng([7, seed]), wishes(), 0
            while not measure.closed:
                number += 1
                side = str(rng.choice(["A", "B", ""], p=[0.54, 0.36, 0.1]))
                measure.note(numbered(number, side), 0.0)
            closed_at.append(number)
        assert max(closed_at) < 300
        assert sorted(closed_at)[10] < 100

    def test_defaults_leave_sides_open_that_the_queue_can_bear(self) -> None:
        rng, measure = np.random.default_rng(7), wishes()
        for number, side in enumerate(rng.choice(["A", "B", ""], 2_000, p=[0.3, 0.3, 0.4]), 1):
            assert not measure.note(numbered(number, str(side)), 0.0)

    def test_only_the_crowded_side_closes(self) -> None:
        measure = wishes(span=50.0)
        for number in range(1, 500):
            measure.note(numbered(number, ("A", "A", "A", "B")[number % 4]), 0.0)
        assert measure.closed == {"A"}

    def test_both_close_where_nobody_is_flexible(self) -> None:
        measure = wishes(span=50.0)
        for number in range(1, 500):
            measure.note(numbered(number, SIDES[number % 2]), 0.0)
        assert measure.closed == {"A", "B"}

    def test_reserve_of_minus_one_never_closes(self) -> None:
        measure = wishes(span=5.0, reserve=-1.0)
        for number in range(1, 500):
            measure.note(numbered(number, "A"), 0.0)
        assert not measure.closed


class TestMatches:
    def test_while_a_side_is_open_nobody_is_placed_on_the_other(self) -> None:
        at_work = matcher()
        assert enter(at_work, 1, "A") == []
        assert enter(at_work, 2, "A") == []
        assert enter(at_work, 3, "") == [{"t1", "t3"}]
        assert enter(at_work, 4, "B") == [{"t2", "t4"}]

    def test_closing_lets_those_who_wait_play_at_once_longest_first(self) -> None:
        at_work = matcher(span=8.0)
        found = [enter(at_work, number, "A") for number in range(1, 7)]
        # 1 - 2 (1 - (7/8)^n) < 0.1 first at n = 5.
        assert found == [[], [], [], [], [{"t1", "t2"}, {"t3", "t4"}], [{"t5", "t6"}]]

    def test_open_side_is_kept_while_the_other_is_closed(self) -> None:
        at_work = matcher(memory={"shares": [0.9, 0.0], "closed": ["A"]}, span=1000.0)
        assert enter(at_work, 1, "B") == []
        assert enter(at_work, 2, "B") == []
        assert enter(at_work, 3, "A") == [{"t1", "t3"}]
        assert enter(at_work, 4, "A") == [{"t2", "t4"}]
        assert enter(at_work, 5, "A") == []
        assert enter(at_work, 6, "A") == [{"t5", "t6"}]

    def test_opening_makes_those_who_wait_insist_again(self) -> None:
        at_work = matcher(memory={"shares": [0.41, 0.0], "closed": ["A"]}, span=20.0)
        assert enter(at_work, 1, "A") == []
        at_work.enter(ticket("gone", 1500.0, at=2, sequence=2), 2.0)
        at_work.leave("gone", 2.0)
        assert at_work.memory()["closed"] == ["A"]
        for number in range(3, 9):
            at_work.enter(ticket(f"g{number}", 1500.0, at=3, sequence=number), 3.0)
            at_work.leave(f"g{number}", 3.0)
        assert at_work.memory()["closed"] == []
        assert enter(at_work, 9, "A") == []
        assert enter(at_work, 10, "") == [{"t1", "t10"}]

    def test_parties_never_break_a_wish_for_an_open_side(self) -> None:
        at_work = matcher(queue(2, 2), {"shares": [0.9, 0.0], "closed": ["A"]}, span=1e6)
        assert enter(at_work, 1, "A") == []
        assert enter(at_work, 2, "", size=2) == []
        # The elder solo's wish is granted first, so both solos would be on side A.
        assert enter(at_work, 3, "B") == []
        assert enter(at_work, 4, "B") == [{"t2", "t3", "t4"}]


class TestRestart:
    def test_matcher_with_memory_goes_on_as_if_nothing_had_happened(self) -> None:
        rng = np.random.default_rng(3)
        sides = rng.choice(["A", "B", ""], 400, p=[0.55, 0.25, 0.2]).tolist()
        for stop in range(0, 400, 37):
            there, found = matcher(span=20.0), []
            waiting: dict[str, Ticket] = {}
            for number, side in enumerate(sides, start=1):
                waiting[f"t{number}"] = ticket(
                    f"t{number}", 1500.0, at=number, sequence=number, side=side
                )
                now = enter(there, number, side)
                for name in {name for match in now for name in match}:
                    del waiting[name]
                found += [now] if number > stop else []
                if number == stop:
                    again = matcher(span=20.0, memory=there.memory())
                    for each in waiting.values():
                        again.enter(each, float(number))
                    assert again.decide(float(number)).matches == ()
                    assert again.memory() == there.memory()
                    there = again
            assert found == _undisturbed(sides)[stop:]


def _undisturbed(sides: list[str]) -> list[list[set[str]]]:
    at_work = matcher(span=20.0)
    return [enter(at_work, number, side) for number, side in enumerate(sides, start=1)]


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"reserve": -1.5}, "reserve must be between -1 and 1, got -1.5"),
        ({"reserve": 0.3}, "reopen must be from reserve"),
        ({"reopen": 1.5}, "reopen must be between -1 and 1, got 1.5"),
        ({"span": 0.5}, "span must be between 1 and 1e6 players, got 0.5"),
        ({"span": float("nan")}, "span must be"),
        ({"reserve": float("nan")}, "reserve must be"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters: dict[str, float], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        matcher(**parameters)


def test_queue_whose_tickets_insist_is_refused() -> None:
    with pytest.raises(ConfigError, match='side_choice = "prefer"'):
        matcher(queue(choice="insist"))
    with pytest.raises(ConfigError, match="give queue plain sides"):
        AdaptiveSides().matcher(Queue("plain"), seed=0)


@pytest.mark.parametrize(("players", "sizes"), [((1, 1), ()), ((3, 3), (1, 2)), ((20, 20), ())])
def test_all_who_wait_get_the_kinds_of_the_open_sides(
    players: tuple[int, ...], sizes: tuple[int, ...]
) -> None:
    rng, at_work = np.random.default_rng(3), matcher(queue(*players, sizes=sizes))
    waiting: dict[int, Ticket] = {}
    for number in range(1, 400):
        if waiting and rng.random() < 0.45:
            gone = waiting.pop(int(rng.choice(list(waiting))))
            at_work.leave(gone.id, 0.0)
        size = int(rng.choice(sizes or (1,)))
        came = waiting[number] = numbered(number, str(rng.choice(["A", "B", ""])), size)
        # The measure, which closes sides by itself, is left out.
        GreedyMatcher.enter(at_work, came, 0.0)
        at_work.close(frozenset(str(side) for side in SIDES if rng.random() < 0.5))
        now = {sequence: at_work._seats.kind_of(each) for sequence, each in waiting.items()}
        assert at_work._kinds == now
        if number % 97 == 0:
            for each in waiting.values():
                at_work.leave(each.id, 0.0)
            waiting.clear()

"""The figures of a summary: what counts, for whom, and what is null."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from evenmatch.errors import ConfigError
from evenmatch.model.match import Match
from evenmatch.model.queue import Criterion, Format, Queue
from evenmatch.model.ticket import NewTicket, Player, Rating, Value
from evenmatch.simulation.groups import groups_of
from evenmatch.simulation.history import CANCELLED, EXPIRED, History
from evenmatch.simulation.metrics import (
    quality_figures,
    summaries_of_shares,
    summarize,
    wait_figures,
)

QUEUES = (Queue("main", wait_price=2.0), Queue("other", wait_price=10.0))


def history(warmup: float = 0.0) -> History:
    return History("main", warmup=warmup, keeps_tickets=True)


def enter(
    into: History,
    name: str,
    at: float,
    *,
    size: int = 1,
    queues: tuple[str, ...] = (),
    attributes: dict[str, Value] | None = None,
    rating: float | None = None,
) -> None:
    own = None if rating is None else Rating(rating)
    players = tuple(Player(f"{name}{at}", own) for at in range(size))
    into.accept(name, NewTicket(players, queues, attributes or {}, name), at)


def match(
    into: History,
    at: float,
    *names: str,
    cost: float = 1.0,
    quality: float | None = 1.0,
    bots: int = 0,
    queue: str = "main",
) -> None:
    players = tuple(
        tuple(f"{name}{p}" for p in range(into.sizes[into.index[name]])) for name in names
    )
    teams = tuple((name,) for name in names)
    number = len(into.matches)
    into.match(Match(f"m{number}", queue, at, names, teams, players, bots, cost, quality))


def assert_finite(value: object) -> None:
    if isinstance(value, Mapping):
        for each in value.values():
            assert_finite(each)
    else:
        assert value is None or type(value) in (int, float, str)
        assert not isinstance(value, float) or math.isfinite(value)


def test_summary_has_exactly_its_keys_in_order() -> None:
    past = history()
    past.finish(0.0)
    summary = summarize(past, QUEUES)
    assert list(summary) == [
        *("matches", "tickets", "players", "bots", "merged"),
        *(
            "cost",
            "cost_criteria",
            "cost_time",
            "cost_per_match",
            "cost_per_player",
            "cost_waiting",
            "wait",
            "quality",
            "gaps",
        ),
        *("expired", "cancelled", "unfinished"),
    ]
    assert list(summary["wait"]) == ["mean", "var", "p50", "p90", "p95", "p99", "max"]
    assert list(summary["quality"]) == ["mean", "p10"]


def test_figures_of_an_empty_run_are_null_or_zero() -> None:
    past = history()
    past.finish(10.0)
    summary = summarize(past, QUEUES)
    assert summary["cost"] == summary["cost_waiting"] == 0.0
    assert summary["cost_per_match"] is None
    assert summary["cost_per_player"] is None
    assert set(summary["wait"].values()) == {None}
    assert summary["quality"] == {"mean": None, "p10": None}
    assert_finite(summary)


def test_gaps_are_those_of_counted_matches_that_have_them() -> None:
    past = history(warmup=1.0)
    for at, (one, two) in enumerate((("a", "b"), ("c", "d"), ("e", "f"), ("g", "h"))):
        enter(past, one, 1.0 * at)
        enter(past, two, 1.0 * at)
    match(past, 0.0, "a", "b")
    for names, gaps in ((("c", "d"), {"x: gap": 4.0}), (("e", "f"), {}), (("g", "h"), {"y": 1.0})):
        number = len(past.matches)
        made = Match(f"m{number}", "main", float(number), names, ((names[0],), (names[1],)), ())
        past.match(made, gaps)
    past.finish(4.0)
    assert summarize(past, QUEUES)["gaps"] == {
        "x: gap": {"mean": 4.0, "p95": 4.0},
        "y": {"mean": 1.0, "p95": 1.0},
    }


def test_cost_is_split_into_criteria_and_the_waits_of_players_and_bots() -> None:
    spread = Criterion("spread", "rating")
    queue = Queue("main", criteria=(spread,), wait_price=2.0, wait_max=5.0)
    past = history()
    enter(past, "a", 0.0, size=3)
    enter(past, "b", 4.0)
    match(past, 4.0, "a", "b", cost=2.0 * (3 * 4.0 + 5.0) + 0.75, bots=1)
    past.finish(4.0)
    summary = summarize(past, [queue])
    assert (summary["cost_criteria"], summary["cost_time"]) == (0.75, 34.0)
    summary = summarize(past, QUEUES)
    assert (summary["cost_criteria"], summary["cost_time"]) == (0.0, 34.75)


def test_shares_divide_tickets_evenly_and_each_match_once() -> None:
    past = history()
    for at in range(9):
        enter(past, f"t{at}", float(at))
    for first in (0, 2, 4, 6):
        match(past, first + 1.0, f"t{first}", f"t{first + 1}", cost=float(first))
    past.finish(9.0)
    shares = list(summaries_of_shares(past, QUEUES, 3))
    assert [each["tickets"] for each in shares] == [3, 3, 3]
    assert [each["matches"] for each in shares] == [1, 2, 1]
    assert [each["cost"] for each in shares] == [0.0, 6.0, 6.0]
    whole = summarize(past, QUEUES)
    assert sum(each["cost_waiting"] for each in shares) == whole["cost_waiting"]
    assert list(summaries_of_shares(past, QUEUES, 10)) == []


def test_waits_are_per_player_and_costs_per_match() -> None:
    past = history()
    enter(past, "a", 0.0, size=3)
    enter(past, "b", 4.0, size=1)
    match(past, 4.0, "a", "b", cost=6.0, quality=0.5)
    past.finish(4.0)
    summary = summarize(past, QUEUES)
    assert summary["wait"]["mean"] == 3.0
    assert summary["wait"]["var"] == 3.0
    assert (summary["tickets"], summary["players"], summary["matches"]) == (2, 4, 1)
    assert (summary["cost_per_match"], summary["cost_per_player"]) == (6.0, 1.5)
    assert summary["quality"] == {"mean": 0.5, "p10": 0.5}
    assert_finite(summary)


def test_bots_are_counted_and_are_no_people() -> None:
    past = history()
    enter(past, "a", 0.0)
    match(past, 5.0, "a", cost=3.0, quality=0.0, bots=2)
    past.finish(5.0)
    summary = summarize(past, QUEUES)
    assert (summary["bots"], summary["players"], summary["cost_per_player"]) == (2, 1, 3.0)


def test_tickets_without_a_match_are_told_apart_and_their_waiting_priced() -> None:
    past = history()
    enter(past, "expired", 0.0)
    enter(past, "cancelled", 1.0, size=2)
    enter(past, "unfinished", 4.0, queues=("other", "main"))
    past.leave("expired", EXPIRED, 3.0, "deadline")
    past.leave("cancelled", CANCELLED, 2.0, "left")
    past.finish(10.0)
    summary = summarize(past, QUEUES)
    assert (summary["expired"], summary["cancelled"], summary["unfinished"]) == (1, 1, 1)
    assert summary["cost_waiting"] == 2.0 * 3.0 + 2.0 * 2 * 1.0 + 10.0 * 6.0
    assert summary["wait"]["mean"] is None
    rows = list(past.ticket_rows())
    assert [row["state"] for row in rows] == ["expired", "cancelled", "waiting"]
    assert [row["reason"] for row in rows] == ["deadline", "left", None]
    assert [row["ended_at"] for row in rows] == [3.0, 2.0, None]
    assert [row["wait"] for row in rows] == [3.0, 1.0, 6.0]


def test_warm_up_is_not_counted_but_its_matches_with_later_tickets_are() -> None:
    past = history(warmup=10.0)
    for name, at in (("a", 0.0), ("b", 1.0), ("c", 2.0), ("d", 10.0), ("e", 11.0)):
        enter(past, name, at)
    match(past, 1.0, "a", "b", cost=100.0)
    match(past, 12.0, "c", "d", cost=7.0, quality=0.25)
    past.finish(20.0)
    summary = summarize(past, QUEUES)
    assert (summary["tickets"], summary["matches"], summary["unfinished"]) == (2, 1, 1)
    assert (summary["cost"], summary["cost_per_player"]) == (7.0, 3.5)
    assert summary["wait"]["mean"] == 2.0
    assert summary["cost_waiting"] == 2.0 * 9.0
    assert len(list(past.ticket_rows())) == 5
    assert len(list(past.match_rows())) == 2


def test_matches_without_quality_are_left_out_of_it() -> None:
    past = history()
    enter(past, "a", 0.0)
    enter(past, "b", 0.0)
    match(past, 0.0, "a", quality=None)
    match(past, 0.0, "b", quality=0.5)
    past.finish(0.0)
    assert summarize(past, QUEUES)["quality"]["mean"] == 0.5


def test_rows_are_in_the_times_of_the_file() -> None:
    past = History("main", offset=1_000_000.0)
    enter(past, "a", 0.5)
    match(past, 2.0, "a")
    past.finish(2.0)
    (row,) = past.ticket_rows()
    assert (row["enqueued_at"], row["ended_at"], row["wait"]) == (1000000.5, 1000002.0, 1.5)
    assert next(past.match_rows())["at"] == 1000002.0


def test_quantiles_are_numpys_and_plain_floats() -> None:
    waits = np.random.default_rng(1).exponential(size=1000)
    figures = wait_figures(waits)
    assert figures["p95"] == np.quantile(waits, 0.95)
    assert figures["var"] == np.var(waits)
    assert all(type(value) is float for value in figures.values())
    assert quality_figures([0.0, 1.0])["p10"] == pytest.approx(0.1)


def test_by_attribute_splits_players() -> None:
    past = history()
    enter(past, "a", 0.0, size=2, attributes={"region": "eu"})
    enter(past, "b", 1.0, attributes={"region": "us"})
    enter(past, "c", 2.0, attributes={"region": "us"})
    enter(past, "d", 3.0)
    match(past, 3.0, "a", "b", quality=0.5)
    match(past, 4.0, "d", quality=1.0)
    past.finish(4.0)
    by = summarize(past, QUEUES, ["region", "size"])["by"]
    assert list(by["region"]) == ["eu", "us", "none"]
    assert by["region"]["eu"]["players"] == 2
    assert by["region"]["us"]["players"] == 2
    assert by["region"]["us"]["wait"]["mean"] == 2.0
    assert by["region"]["us"]["quality"] == {"mean": 0.5, "p10": 0.5}
    assert {size: group["players"] for size, group in by["size"].items()} == {"1": 3, "2": 2}
    assert_finite(by)


def test_by_queue_is_where_the_match_was_made_or_the_ticket_waited() -> None:
    past = history()
    enter(past, "a", 0.0, queues=("main", "other"))
    enter(past, "b", 1.0, queues=("main", "other"))
    enter(past, "c", 1.0)
    match(past, 1.0, "a", queue="other")
    past.finish(4.0)
    groups = groups_of(past, "queue")
    assert groups == {"main": [2], "main+other": [1], "other": [0]}


def test_by_queues_is_where_the_ticket_waited_even_if_it_was_matched() -> None:
    past = history()
    enter(past, "a", 0.0, queues=("main", "other"))
    enter(past, "b", 1.0, queues=("other",))
    enter(past, "c", 1.0, queues=("main", "other"), size=2)
    match(past, 2.0, "a", "b", queue="other")
    past.finish(3.0)
    assert groups_of(past, "queues") == {"main+other": [0, 2, 2], "other": [1]}


def test_by_side_those_who_insist_on_none_are_flexible() -> None:
    past = history()
    for name, attributes in (("a", {"side": "B"}), ("b", {"side": ""}), ("c", {})):
        enter(past, name, 0.0, attributes=attributes)  # type: ignore[arg-type]
    past.finish(3.0)
    assert groups_of(past, "side") == {"B": [0], "flexible": [1, 2]}


def test_off_side_counts_players_where_sides_are_wishes() -> None:
    form = Format((2, 2), ("A", "B"), side_choice="prefer")
    past = history(warmup=0.5)
    for name, size in (("early", 2), ("a", 2), ("b", 1), ("c", 1)):
        enter(past, name, float(name != "early"), size=size, attributes={"side": "A"})
    teams = (("a",), ("b", "c"))
    past.match(Match("m0", "main", 2.0, ("a", "b", "c"), teams, teams, off_side=("b", "early")))
    past.finish(3.0)
    summary = summarize(past, (Queue("main", form),), by=["size"])
    assert summary["off_side"] == 1
    assert [group["off_side"] for group in summary["by"]["size"].values()] == [1, 0]
    assert next(past.match_rows())["off_side"] == ["b", "early"]
    assert "off_side" not in summarize(past, QUEUES)


def test_rating_deciles_share_players_evenly_and_keep_ties_together() -> None:
    past = history()
    for place in range(100):
        enter(past, f"t{place}", float(place), rating=float(place))
    past.finish(100.0)
    groups = groups_of(past, "rating_decile")
    assert list(groups) == [str(decile) for decile in range(1, 11)]
    assert {len(places) for places in groups.values()} == {10}
    ties = history()
    for place in range(10):
        enter(ties, f"t{place}", 0.0, rating=7.0)
    assert list(groups_of(ties, "rating_decile")) == ["1"]


def test_values_have_names_in_the_order_in_which_people_read_them() -> None:
    past = history()
    values: list[Value] = [10.0, 2.0, 2.5, "word", ("x", "y")]
    for place, value in enumerate(values):
        enter(past, f"t{place}", 0.0, attributes={"value": value})
    assert list(groups_of(past, "value")) == ["2", "2.5", "10", "word", "x+y"]


def test_whole_numbers_are_numbers_to_split_by() -> None:
    past = history()
    for place in range(10):
        level: Any = place // 5
        enter(past, f"t{place}", 0.0, attributes={"level": level})
    assert {name: len(own) for name, own in groups_of(past, "level").items()} == {"0": 5, "1": 5}
    assert list(groups_of(past, "level_decile")) == ["1", "6"]


def test_attributes_that_cannot_be_split_by_are_refused() -> None:
    past = history()
    for place in range(1001):
        facts: dict[str, Value] = {"ping": {"eu": 3.0}, "number": float(place), "word": "w"}
        enter(past, f"t{place}", 0.0, attributes=facts)
    with pytest.raises(ConfigError, match="no ticket has an attribute colour"):
        groups_of(past, "colour")
    with pytest.raises(ConfigError, match="no ticket has a number word"):
        groups_of(past, "word_decile")
    with pytest.raises(ConfigError, match="it is a map"):
        groups_of(past, "ping")
    with pytest.raises(ConfigError, match="use number_decile"):
        groups_of(past, "number")

"""The arithmetic of the benches of team queues: stalls, who was wronged, equal waits, plans."""

import math
import tomllib

import pytest

from papers.studies.streams import StreamFigures
from tests.bench.__main__ import is_command
from tests.bench.equal_wait import AtWait, at_wait
from tests.bench.hindsight import Planner, tickets_of
from tests.bench.stalls import Ping, Schedule, stalls
from tests.bench.team_crowd import Party, wronged
from tests.bench.team_players import SCENE, Change, party_bodies, server_toml, unmatchable_bodies
from tests.bench.team_quality import _options, pm, tasks_of
from tests.bench.team_queue import Load, Outcome, change_of, middle
from tests.bench.team_streams import Stream, changed, scenario_of, thinned
from tests.bench.team_task import back_within, difference, steps


def test_all_that_came_due_during_a_stall_waited_for_its_end() -> None:
    schedule = Schedule(10.0, every=0.05)

    schedule.answered(10.0, 10.001)
    schedule.answered(10.05, 10.22)

    assert [round(each.seconds, 3) for each in schedule.pings] == [0.001, 0.17, 0.12, 0.07, 0.02]
    assert schedule.due == pytest.approx(10.25)


def test_a_client_that_is_late_itself_does_not_blame_the_server() -> None:
    schedule = Schedule(0.0, every=1.0)

    schedule.answered(0.9, 0.95)

    (ping,) = schedule.pings
    assert (ping.seconds, ping.late) == (pytest.approx(0.05), pytest.approx(0.9))


def test_a_question_without_an_answer_counts_for_as_long_as_it_waits() -> None:
    schedule = Schedule(0.0, every=1.0)
    schedule.answered(0.0, 0.1)

    found = schedule.until(1.0, 4.5)

    assert [each.seconds for each in found] == [pytest.approx(0.1), 3.5, 2.5, 1.5, 0.5]
    assert len(schedule.pings) == 1


def test_stalls_are_those_of_the_window() -> None:
    pings = [Ping(float(at), 0.001 * at, 0.0) for at in range(100)]

    found = stalls(pings, 10.0, 20.0)

    assert (found.longest, found.count) == (pytest.approx(0.019), 10)
    with pytest.raises(RuntimeError, match="nobody asked"):
        stalls(pings, 200.0, 300.0)


def _party(mind: str, due: float, sent: float) -> Party:
    party = Party(2)
    party.asked, party.mind, party.due, party.sent = "m1", mind, due, sent
    return party


def test_who_accepted_in_time_is_wronged_and_who_declined_is_not() -> None:
    assert wronged(_party("decline", 15.0, 1.0), "declined") == ""
    assert wronged(_party("silent", 15.0, 0.0), "silent") == ""
    assert wronged(_party("accept", 15.0, 1.0), "silent") == "silent, had accepted in time"
    assert wronged(_party("accept", 0.5, 1.0), "silent") == "silent, heard too late to accept"
    assert wronged(Party(1), "silent") == "silent, never heard of a match"


def test_the_server_gets_the_queue_of_the_scenario_without_its_arrivals() -> None:
    scenario = tomllib.loads(SCENE.read_text())

    found = tomllib.loads(server_toml(Change()))

    assert "arrivals" not in found
    assert found["queue"] == scenario["queue"]


def test_a_change_of_the_queue_replaces_keys_and_drops_the_region_rule() -> None:
    change = change_of(Load(policy="greedy", wait_price=0.5, unmatchable=5, is_local=True))

    (queue,) = tomllib.loads(server_toml(change))["queue"]

    assert (queue["policy"], queue["wait_price"], queue["wait_max"]) == ("greedy", 0.5, 3600.0)
    assert "target_wait" not in queue
    assert not [each for each in queue.get("rules", ()) if each["kind"] == "latency"]


def test_the_same_seed_gives_the_same_parties_with_roles() -> None:
    bodies = list(party_bodies(50.0, 200, 7))

    assert bodies == list(party_bodies(50.0, 200, 7))
    assert {size for _, size in bodies} >= {1, 2, 3}
    assert sum(b'"roles":["' in body for body, _ in bodies) > 150
    assert all(body.count(b'"id":"') == size for body, size in bodies)


@pytest.mark.parametrize(("kind", "text"), [("tanks", b'"roles":["tank"]'), ("far", b"900.0")])
def test_those_who_cannot_match_are_alone_and_alike(kind: str, text: bytes) -> None:
    bodies = list(unmatchable_bodies(kind, 20, 1))

    assert [size for _, size in bodies] == [1] * 20
    assert all(text in body for body, _ in bodies)


def test_a_round_that_could_not_go_on_is_the_one_that_is_shown() -> None:
    outcomes = [Outcome("this", {"stall": stall}) for stall in (0.3, 0.1, 0.2)]

    assert middle(outcomes).figures["stall"] == 0.2
    assert middle([*outcomes, Outcome("this", {}, "refused")]).reason == "refused"


def test_a_bench_with_options_of_its_own_is_a_command() -> None:
    assert is_command(["team_queue", "--rate", "5", "--json", "out"])
    assert not is_command(["team_queue", "--quick"])
    assert not is_command(["server", "--rate", "5"])
    assert not is_command([])


def _figures(wait: float, quality: float) -> StreamFigures:
    return StreamFigures(quality, quality - 10.0, wait, 2.0 * wait, 4.0 * wait, 100, 1)


def test_a_policy_is_read_off_at_the_wait_of_another_one() -> None:
    asked: list[float] = []

    def run(knob: float) -> StreamFigures:
        # A wait of twice the knob, and five points of quality for each doubling of it.
        asked.append(knob)
        return _figures(2.0 * knob, 70.0 + 5.0 * math.log2(knob))

    found = at_wait(run, 40.0, 5.0, 1.0)

    assert found.mean == pytest.approx(70.0 + 5.0 * math.log2(20.0))
    assert found.p10 == pytest.approx(found.mean - 10.0)
    assert found.p95 == pytest.approx(80.0, rel=0.01)
    assert found.beyond == 0.0
    assert len(asked) <= 6


def test_a_knob_that_turns_the_other_way_is_found_too() -> None:
    found = at_wait(lambda price: _figures(3.0 / price**0.4, 70.0 - price), 30.0, 1.0, -0.5)

    assert found.beyond == 0.0
    assert min(abs(wait - 30.0) for _, wait in found.runs) < 4.0


def test_a_wait_that_cannot_be_had_is_said_to_lie_beyond() -> None:
    asked: list[float] = []

    def run(knob: float) -> StreamFigures:
        asked.append(knob)
        return _figures(max(20.0, knob), 70.0)

    found = at_wait(run, 10.0, 10.0, 1.0)

    assert len(asked) == 2
    assert found.beyond == pytest.approx(1.0)
    assert found.mean == 70.0


def test_differences_of_streams_have_intervals_of_student() -> None:
    # Five values with a variance of 2.5: 2.776 x sqrt(2.5 / 5).
    assert pm([1.0, 2.0, 3.0, 4.0, 5.0]) == "3.00 ± 1.96"


def test_a_difference_is_that_of_qualities_and_the_ratio_of_waits() -> None:
    mine = AtWait(80.0, 70.0, 120.0, 0.01, 0.0, ())
    other = AtWait(79.0, 66.0, 100.0, 0.0, 0.05, ())

    found = difference(mine, other, 50.0)

    assert (found["mean"], found["p10"], found["p95"]) == (1.0, 4.0, 1.2)
    assert (found["wait"], found["beyond"]) == (50.0, 0.05)


def test_waits_are_back_once_they_stay_near_the_target() -> None:
    assert back_within([60.0, 31.0, 60.0, 33.0, 29.0, 25.0], 30.0, 15.0) == 45.0
    assert back_within([30.0, 30.0, 30.0], 30.0, 15.0) == 0.0
    assert back_within([None, 30.0, 90.0, 30.0], 30.0, 15.0) is None


def test_a_stream_holds_the_players_that_count_between_its_ends() -> None:
    arrivals = scenario_of(Stream("world_3v3", 20.0, 1)).arrivals

    assert arrivals is not None
    assert arrivals.duration == pytest.approx(1_200.0 + 3_900.0 + 900.0)


def test_a_lull_thins_the_arrivals_while_it_lasts() -> None:
    stream = Stream("world_3v3", 200.0, 3)

    found = thinned(stream, 300.0, steps(100.0, 200.0, 1.0, 0.0))

    times = [each.at for each in found]
    assert not [at for at in times if 101.0 < at < 199.0]
    assert len(times) == pytest.approx(0.775 * 200.0 / 60.0 * 200.0, rel=0.15)


def test_those_who_come_after_a_change_have_ids_of_their_own() -> None:
    found = changed(Stream("world_3v3", 60.0, 3), 400.0, 200.0)

    ids = [player.id for each in found for player in each.ticket.players]
    assert len(set(ids)) == len(ids)
    assert [each.at for each in found] == sorted(each.at for each in found)


def test_tasks_are_all_combinations() -> None:
    options = _options(["--what", "rounds,target", "--rates", "5,20", "--streams", "2"])

    tasks = list(tasks_of(options))

    assert sum(each.what == "rounds" for each in tasks) == 3 * 2 * 2
    assert sum(each.what == "target" for each in tasks) == 3 * 2 * 3 * 2
    assert {each.seed for each in tasks} == {301, 302}


def test_a_plan_in_hindsight_seats_each_ticket_once_and_none_before_it_came() -> None:
    stream = Stream("world_3v3", 60.0, 5, share=0.02)
    scenario = scenario_of(stream)
    tickets = [each for each in tickets_of(stream) if each.enqueued_at < 400.0]

    plans = {
        weight: Planner(scenario.queues[0], weight, 1).plan(tickets, 300.0, 400.0)
        for weight in (0.05, 5.0)
    }

    waits = {}
    for weight, matches in plans.items():
        seated = [ticket.id for group, _ in matches for ticket in group]
        assert len(seated) == len(set(seated)) > 0
        assert all(sum(ticket.size for ticket in group) == 6 for group, _ in matches)
        assert all(0.0 <= quality <= 1.0 for _, quality in matches)
        starts = [max(ticket.enqueued_at for ticket in group) for group, _ in matches]
        waits[weight] = sum(
            start - ticket.enqueued_at
            for (group, _), start in zip(matches, starts, strict=True)
            for ticket in group
        ) / len(seated)
    assert waits[5.0] < waits[0.05]

"""The arithmetic of the benches of team queues: waits that pings show, who was wronged, parts."""

import tomllib

import pytest

from tests.bench.__main__ import is_command
from tests.bench.stalls import Ping, Schedule, stalls
from tests.bench.team_crowd import Party, wronged
from tests.bench.team_players import SCENE, Change, party_bodies, server_toml, unmatchable_bodies
from tests.bench.team_queue import Load, Outcome, change_of, middle


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
    assert not [each for each in queue.get("rules", ()) if each["kind"] == "latency"]


def test_the_same_seed_gives_the_same_parties_with_roles_that_fit_one_team() -> None:
    bodies = list(party_bodies(50.0, 200, 7))

    assert bodies == list(party_bodies(50.0, 200, 7))
    assert {size for _, size in bodies} >= {1, 2, 3}
    assert all(b'"roles":["' in body for body, _ in bodies)
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

"""One answer of what several shards say."""

import msgspec
import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from evenmatch.errors import AlreadyWaiting, InvalidTicket, MatchmakingError, Overloaded
from evenmatch.server.cluster import joined_answers
from evenmatch.server.cluster.joined_answers import SHARD_UP, WholeAnswer, well
from evenmatch.server.http.responses import answer_of
from evenmatch.server.views.metrics import CONTENT_TYPE
from tests.unit.server.promql import scrape


def bad(status: int, code: str = "unavailable") -> WholeAnswer:
    return well({"error": code, "message": "why"}, status)


def test_lists_are_joined_and_a_shard_that_knows_nothing_adds_nothing() -> None:
    one, two = well([1, 2]), well([3])
    assert joined_answers.lists([("s0", one), ("s0.x", two)]).value() == [1, 2, 3]
    assert joined_answers.lists([("s0", one), ("s0.x", bad(404))]).value() == [1, 2]
    assert joined_answers.lists([("s0", bad(404)), ("s0.x", bad(404))]).status == 404
    # Half of a list would look like all of it.
    assert joined_answers.lists([("s0", one), ("s0.x", bad(503))]).status == 503


def test_queues_say_how_many_parts_they_have_and_who_waits_in_all_of_them() -> None:
    def told(waiting: int, fault: str | None = None) -> WholeAnswer:
        return well([{"name": "duel", "waiting": waiting, "fault": fault}])

    casual = well([{"name": "casual", "waiting": 7, "fault": None}])
    parts = [("s0", told(2)), ("s0~1", told(3, "it raised")), ("s0~2", told(0))]
    duel, other = joined_answers.queues([*parts, ("s0.casual", casual)]).value()
    assert duel == {"name": "duel", "waiting": 5, "fault": "it raised", "parts": 3}
    assert other == {"name": "casual", "waiting": 7, "fault": None}


def test_drain_is_over_when_all_shards_take_nobody() -> None:
    def told(draining: bool, waiting: int, left: float | None) -> WholeAnswer:
        return well({"draining": draining, "waiting": waiting, "seconds_left": left})

    joined = joined_answers.drains([("a", told(True, 2, 5.0)), ("b", told(True, 3, 7.0))])
    assert joined.value() == {"draining": True, "waiting": 5, "seconds_left": 7.0}
    joined = joined_answers.drains([("a", told(True, 2, 5.0)), ("b", told(False, 0, None))])
    assert joined.value() == {"draining": False, "waiting": 2, "seconds_left": 5.0}


def test_metrics_of_all_shards_can_be_read_as_one_page() -> None:
    page = (
        '# HELP t_total Tickets, all.\n# TYPE t_total counter\nt_total{{queue="a"}} {0}\n'
        "# HELP up Up.\n# TYPE up gauge\nup 1.0\n"
        '# HELP w Waits.\n# TYPE w histogram\nw_bucket{{le="+Inf"}} {0}\nw_sum 0.0\nw_count {0}\n'
    )
    pages = [
        (name, WholeAnswer(200, (), page.format(n).encode())) for name, n in (("a", 3), ("b", 4))
    ]
    families = list(text_string_to_metric_families(joined_answers.metrics(pages, "").body.decode()))
    assert [each.name for each in families] == ["t", "up", "w", SHARD_UP]
    found = {(each.name, each.labels["shard"]): each.value for each in families[0].samples}
    assert found == {("t_total", "a"): 3.0, ("t_total", "b"): 4.0}
    assert len(families[2].samples) == 6


def test_metrics_of_a_shard_that_does_not_answer_are_left_out_and_it_is_said_to_be_down() -> None:
    page = WholeAnswer(200, ((b"content-type", b"text/plain"),), b"# TYPE w gauge\nw 2.0\n")
    joined = joined_answers.metrics([("a", bad(503)), ("b", page)], "")
    assert (joined.status, joined.headers) == (200, page.headers)
    samples = [
        (one.name, one.labels["shard"], one.value)
        for each in text_string_to_metric_families(joined.body.decode())
        for one in each.samples
    ]
    assert samples == [("w", "b", 2.0), (SHARD_UP, "a", 0.0), (SHARD_UP, "b", 1.0)]
    # Somebody turns the caller away, or fails.
    assert joined_answers.metrics([("a", bad(503)), ("b", bad(401))], OWN).status == 401
    assert joined_answers.metrics([("a", page), ("b", bad(500))], OWN).status == 500


OWN = '# HELP w W.\n# TYPE w gauge\nw{node="n"} 1.0\n'


@pytest.mark.parametrize("shards", [("a",), ("a", "b")])
def test_metrics_say_that_no_shard_is_ready_when_none_answers(shards: tuple[str, ...]) -> None:
    joined = joined_answers.metrics([(shard, bad(503)) for shard in shards], OWN)
    assert (joined.status, dict(joined.headers)[b"content-type"]) == (200, CONTENT_TYPE.encode())
    found = scrape(joined.body)
    if len(shards) == 1:
        assert found == {"evenmatch_ready": {frozenset(): 0.0}}
    else:
        down = {frozenset({("shard", shard)}): 0.0 for shard in shards}
        # Nobody has judged the caller, so it is no more than /readyz tells anybody.
        assert found == {"evenmatch_ready": down, SHARD_UP: down}


def test_metrics_have_those_of_the_node_beside_those_of_the_shards() -> None:
    page = WholeAnswer(200, (), b"# HELP w W.\n# TYPE w gauge\nw 2.0\n# TYPE x gauge\nx 3.0\n")
    (single,) = text_families(joined_answers.metrics([("a", page)], OWN))[:1]
    assert [(one.labels, one.value) for one in single.samples] == [({}, 2.0), ({"node": "n"}, 1.0)]
    first = text_families(joined_answers.metrics([("a", page), ("b", page)], OWN))[0]
    assert [one.labels for one in first.samples] == [
        {"shard": "a"},
        {"shard": "b"},
        {"node": "n"},
    ]


def text_families(answer: WholeAnswer) -> list[Metric]:
    return list(text_string_to_metric_families(answer.body.decode()))


def test_tickets_of_an_array_are_answered_in_their_order_wherever_they_belong() -> None:
    one = well(
        [{"status": 201, "id": "s0-1"}, {"status": 400, "error": "e", "where": "/1/players"}]
    )
    two = bad(503)
    three = well([{"status": 404, "error": "unknown_queue", "message": "why"}])
    refused = {2: InvalidTicket("two groups", where="/queues")}
    joined = joined_answers.creates([((0, 3), one), ((1,), two), ((2,), three)], refused, 4)
    assert joined.status == 200
    assert joined.value() == [
        {"status": 201, "id": "s0-1"},
        {"status": 503, "error": "unavailable", "message": "why"},
        {"status": 400, "error": "invalid_ticket", "message": "two groups", "where": "/2/queues"},
        {"status": 400, "error": "e", "where": "/3/players"},
    ]


def test_caller_who_may_not_create_is_told_so_for_the_whole_array() -> None:
    found = [((0,), bad(401, "unauthenticated")), ((1,), bad(403, "forbidden"))]
    joined = joined_answers.creates(found, {}, 2)
    assert joined.status == 401
    assert msgspec.json.decode(joined.body)["error"] == "unauthenticated"


def test_array_says_what_was_made_though_one_shard_turns_its_caller_away() -> None:
    made = well([{"status": 201, "id": "s0-1"}])
    found = [((1,), bad(401, "unauthenticated")), ((0,), made)]
    joined = joined_answers.creates(found, {}, 2)
    assert joined.status == 200
    assert joined.value() == [
        {"status": 201, "id": "s0-1"},
        {"status": 401, "error": "unauthenticated", "message": "why"},
    ]


def refusing(error: MatchmakingError) -> WholeAnswer:
    status, body, headers = answer_of(error)
    return WholeAnswer(status, tuple(headers), body)


def test_array_that_all_shards_send_away_comes_again_after_the_longest_wait() -> None:
    found = [
        ((number,), refusing(Overloaded("busy", seconds=seconds)))
        for number, seconds in enumerate((2.0, 7.0, 3.0))
    ]
    joined = joined_answers.creates(found, {}, 3)
    assert (joined.status, joined.value()["seconds"]) == (429, 7.0)
    assert dict(joined.headers)[b"retry-after"] == b"7"


def test_ticket_of_an_array_keeps_all_that_its_shard_said() -> None:
    made = well([{"status": 201, "id": "s0-1"}])
    refusal = AlreadyWaiting("it waits", where="/players/0", ticket="s1-7")
    busy = Overloaded("busy", seconds=7.0)
    found = [((0,), made), ((1,), refusing(refusal)), ((2,), refusing(busy))]
    joined = joined_answers.creates(found, {}, 3)
    assert joined.status == 200
    _, second, third = joined.value()
    assert (second["status"], second["where"], second["ticket"]) == (409, "/1/players/0", "s1-7")
    assert (third["status"], third["seconds"]) == (429, 7.0)

from typing import Any

import msgspec
import pytest

from evenmatch.errors import InvalidTicket
from evenmatch.model.match import Match
from evenmatch.model.ticket import Player, Rating
from evenmatch.wire import tickets
from evenmatch.wire.backfill import OpenForBackfill
from evenmatch.wire.matches import ReportOutcome, feed_match, match_state
from evenmatch.wire.operate import SetPolicy
from evenmatch.wire.tickets import CreateTicket, InvalidRequest, decode, decode_create, new_ticket


def test_create_is_one_ticket_or_several() -> None:
    one = b'{"players":[{"id":"a","rating":{"mean":1500,"deviation":80}}],"queues":["duel"]}'
    expected = CreateTicket((Player("a", Rating(1500.0, 80.0)),), ("duel",))
    assert decode_create(one) == expected
    assert decode_create(b"[" + one + b"," + one + b"]") == (expected, expected)


@pytest.mark.parametrize("count", [0, 4])
def test_array_has_limits(count: int) -> None:
    body = msgspec.json.encode([CreateTicket((Player("a"),))] * count)
    with pytest.raises(InvalidTicket, match=f"1 to 3 tickets, got {count}"):
        decode_create(body, batch_max=3)


@pytest.mark.parametrize(
    ("body", "where", "sentence"),
    [
        (b'{"players":[{"id":"a"},{"id":1}]}', "/players/1/id", "id must be text, got a number"),
        (b'{"players":[{"id":"a","rating":7}]}', "/players/0/rating",
         'rating must be an object such as {"mean": 1500}, got a number'),
        (b'{"players":[{"id":"a","rating":{"mean":"x"}}]}', "/players/0/rating/mean",
         "mean must be a number, got text"),
        (b'{"players":[{"id":"a","rating":{}}]}', "/players/0/rating",
         "rating must have the field mean"),
        (b'{"players":[{"id":"a","attributes":{"x":[1]}}]}', "/players/0/attributes/x/0",
         "must be text, got a number"),
        (b'{"players":[{"id":"a","attributes":{"x/y":true}}]}', "/players/0/attributes/x~1y",
         "must be a number or text or an array or an object, got true"),
        (b'{"players":[{"id":"a"}],"queue":"duel"}', "/queue",
         "allowed: players, queues, attributes; did you mean queues?"),
        (b'{"players":[{"id":"a","skill":1}]}', "/players/0/skill",
         """roles; a value of your own goes into "attributes": {"skill": ...}"""),
        (b'{"players":true}', "/players", "players must be an array such as"),
        (b'{"queues":["duel"]}', "", "the ticket must have the field players"),
        (b'{"players":[{"id":"a","rating":{"mean":1e999}}]}', "/players/0/rating/mean", "between"),
    ],
)  # fmt: skip
def test_error_points_into_the_body_and_says_what_to_do(
    body: bytes, where: str, sentence: str
) -> None:
    with pytest.raises(InvalidTicket) as caught:
        decode_create(body)
    assert caught.value.where == where
    assert sentence in caught.value.message
    assert "`$" not in caught.value.message


def test_body_of_another_kind_is_not_called_a_ticket() -> None:
    for body, sentence in (
        (b"{}", "the body must have the field policy"),
        (b'{"policy":"greedy","x":1}', "the body has no field 'x'; allowed: policy"),
    ):
        with pytest.raises(InvalidRequest) as caught:
            decode(body, SetPolicy, "an object")
        assert caught.value.message == sentence


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "the body is empty; send a ticket or an array of them as JSON"),
        (b"null", "the body must be a ticket or an array of them, got null"),
        (b"7", "got a number"),
        (b"\xff", "must be JSON"),
        (b'{"players":[{"id":"\\ud800"}]}', "JSON: \\ud800 is half of a character; send the whole"),
        (b'{"players":[{"id":"\\uD83Dx"}]}', "must be JSON: \\uD83D is half of a character"),
        (b'{"players":[{"id":"\\ude00"}], "queues": []}', "\\ude00 is half of a character"),
        (b'[{"queues":["\\ud83d\\ude00", "\\\\\\ud800"]}]', "JSON: \\ud800 is half of"),
        (b'[{"players":"\\\\ud800"', "must be JSON: it ends too early, or within an escape"),
        (b'[{"players":"\\ud83d\\ude00"', "must be JSON: it ends too early, or within an escape"),
        (b'[{"players":', "must be JSON: it ends too early, or within an escape"),
        (b'{"queues": NaN}', "(byte 11); NaN and Infinity are no numbers of JSON"),
        (b"[1, Infinity]", "(byte 4); NaN and Infinity are no numbers of JSON"),
        (b'["NaN", "Infinity', "must be JSON: it ends too early, or within an escape"),
    ],
)
def test_body_that_is_no_ticket_is_an_invalid_request(body: bytes, sentence: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        decode_create(body)
    assert caught.value.where == ""
    assert sentence in caught.value.message


def test_malformed_item_leaves_the_others_in_their_places() -> None:
    found = decode_create(b'[{"players":[{"id":"a"}]}, {"players":[{"id":1}]}, 7]')
    assert isinstance(found, tuple)
    assert found[0] == CreateTicket((Player("a"),))
    assert isinstance(found[1], InvalidTicket)
    assert found[1].where == "/players/0/id"
    assert isinstance(found[2], InvalidTicket)
    assert found[2].message == "an item must be a ticket, got a number"
    with pytest.raises(InvalidTicket, match="1 to 2 tickets, got 3"):
        decode_create(b"[1,2,3]", batch_max=2)


def test_many_malformed_items_cost_one_look_at_the_type(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[object] = []
    look = msgspec.inspect.type_info
    monkeypatch.setattr(
        msgspec.inspect, "type_info", lambda shape: looks.append(shape) or look(shape)
    )
    found = decode_create(b"[" + b",".join([b"{}"] * 100) + b"]")
    assert isinstance(found, tuple)
    assert [each.message for each in found if isinstance(each, InvalidTicket)] == [
        "the ticket must have the field players"
    ] * 100
    assert len(looks) <= 1


def test_fault_far_behind_is_found_where_the_decoder_stopped() -> None:
    players = b",".join([b'{"id":"a"}'] * 5_000)
    queues = b",".join([b'"duel"'] * 5_000)
    body = b'{"queues":[%s],"players":[%s,{"id":7}]}' % (queues, players)
    with pytest.raises(InvalidTicket, match="id must be text, got a number") as caught:
        decode_create(body)
    assert caught.value.where == "/players/5000/id"
    many = b",".join(b'"k%d":1' % at for at in range(5_000))
    with pytest.raises(InvalidTicket) as caught:
        decode_create(b'{"players":[{"id":"a"}],"attributes":{%s,"x":null}}' % many)
    assert caught.value.where == "/attributes"


def test_only_what_leads_to_a_fault_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []
    look = tickets._faults

    def counted(value: object, shape: object, where: str, *more: str) -> Any:
        looks.append(where)
        return look(value, shape, where, *more)

    monkeypatch.setattr(tickets, "_faults", counted)
    many = b",".join(b'"k%d":1' % at for at in range(60))
    with pytest.raises(InvalidTicket, match="players must be an array"):
        decode_create(b'{"attributes":{%s},"players":7}' % many)
    with pytest.raises(InvalidTicket, match="must have the field players"):
        decode_create(b'{"attributes":{%s}}' % many)
    assert looks == ["", "/players", ""]


def test_decode_names_the_place() -> None:
    with pytest.raises(InvalidRequest, match="must be an object of texts, got an array"):
        decode(b"[]", dict[str, str], "an object of texts")
    with pytest.raises(InvalidRequest, match="entry 'a/b' must be text, got a number") as caught:
        decode(b'{"a/b":1}', dict[str, str], "an object of texts")
    assert caught.value.where == "/a~1b"


@pytest.mark.parametrize(
    ("player", "where"),
    [
        (Player(" "), "/players/1/id"),
        (Player("a\nb"), "/players/1/id"),
        (Player("a\x00"), "/players/1/id"),
    ],
)
def test_player_that_cannot_be_taken_is_refused(player: Player, where: str) -> None:
    with pytest.raises(InvalidTicket) as caught:
        new_ticket(CreateTicket((Player("\U0001f468\u200d\U0001f469"), player)))
    assert caught.value.where == where


def test_sets_of_words_are_sorted() -> None:
    created = decode_create(b'{"players":[{"id":"a"}],"attributes":{"maps":["b","a","b"]}}')
    assert isinstance(created, CreateTicket)
    assert new_ticket(created).attributes == {"maps": ("a", "b")}


def test_match_goes_out_with_every_field() -> None:
    match = Match("s0-m1", "duel", 2.5, ("s0-1", "s0-2"), (("s0-1",), ("s0-2",)), (("a",), ("b",)))
    state = msgspec.to_builtins(match_state(match, {"connection": "x"}))
    assert state["quality"] is None
    assert "handicap" not in state
    assert state["assignment"] == {"connection": "x"}
    assert msgspec.to_builtins(feed_match(match, None, 9)) == {
        **state,
        "assignment": None,
        "seq": 9,
    }


def test_match_states_its_region_and_hosts_where_there_are_any() -> None:
    teams = (("a",), ("b",))
    match = Match(
        "m", "duel", 2.5, ("1", "2"), (("1",), ("2",)), teams,
        region="eu", latency_delta=((0.0,), (4.5,)), hosts=(),
    )  # fmt: skip
    for state in (match_state(match), feed_match(match, None, 7)):
        said = msgspec.to_builtins(state)
        assert (said["region"], said["latency_delta"]) == ("eu", ((0.0,), (4.5,)))
        assert said["hosts"] == ()
    bare = msgspec.to_builtins(match_state(Match("m", "q", 0.0, ("1",), (("1",),), (("a",),))))
    assert not {"region", "latency_delta", "hosts"} & set(bare)


def test_match_states_who_is_on_another_side_than_asked() -> None:
    teams = (("1",), ("2",))
    match = Match("m", "map", 0.0, ("1", "2"), teams, (("a",), ("b",)), off_side=("2",))
    for state in (match_state(match), feed_match(match, None, 7)):
        assert msgspec.to_builtins(state)["off_side"] == ("2",)
    kept = msgspec.structs.replace(match, off_side=None)
    assert "off_side" not in msgspec.to_builtins(match_state(kept))


def test_match_states_its_handicap_where_there_is_one() -> None:
    match = Match("m", "duel", 2.5, ("1", "2"), (("1",), ("2",)), (("a",), ("b",)), handicap=(0, 3))
    for state in (match_state(match), feed_match(match, None, 9)):
        assert msgspec.to_builtins(state)["handicap"] == (0, 3)


def test_winner_is_told_to_be_ranks() -> None:
    with pytest.raises(InvalidRequest, match=r"no field 'winner'.*did you mean ranks\?") as caught:
        decode(b'{"winner": 1}', ReportOutcome, "an outcome")
    assert caught.value.where == "/winner"


@pytest.mark.parametrize(
    ("body", "where", "sentence"),
    [
        (b'{"roster_version":-1}', "/roster_version", "roster_version must be at least 0, got -1"),
        (b'{"lease":0}', "/lease", "lease must be at least 1, got 0"),
        (b'{"lease":1e9}', "/lease", "lease must be at most 3,600, got 1,000,000,000"),
        (
            b'{"roster_version":-1%b}' % (b"0" * 400),
            "/roster_version",
            "roster_version must be at least 0, got a number of 401 digits",
        ),
        (b'{"free":[-1,0]}', "/free/0", "item 0 of free must be at least 0, got -1"),
        (
            b'{"roster_version":0.5}',
            "/roster_version",
            "roster_version must be a whole number, got 0.5",
        ),
        (b'{"priority":"urgent"}', "/priority", "priority must be one of "),
        (b'{"priority":5}', "/priority", "priority must be one of "),
    ],
)
def test_what_is_out_of_range_is_said_in_words(body: bytes, where: str, sentence: str) -> None:
    whole = msgspec.json.encode({"roster_version": 0, **msgspec.json.decode(body)})
    with pytest.raises(InvalidRequest) as refused:
        decode(whole, OpenForBackfill, "an object")
    assert (refused.value.where, refused.value.message[: len(sentence)]) == (where, sentence)

import msgspec
import pytest

from evenmatch.errors import InvalidTicket
from evenmatch.model.match import Match
from evenmatch.model.queue import Criterion, Queue, Rule
from evenmatch.model.rating import Rating
from evenmatch.model.ticket import Player
from evenmatch.wire import (
    CreateTicket,
    check_attributes,
    declared,
    decode,
    decode_create,
    feed_match,
    match_state,
    new_ticket,
)


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
    ("body", "where"),
    [
        (b'{"players":[{"id":"a"},{"id":1}]}', "/players/1/id"),
        (b'[{"players":[{"id":"a","rating":{"mean":"x"}}]}]', "/0/players/0/rating/mean"),
        (b'{"players":[{"id":"a","attributes":{"x":[1]}}]}', "/players/0/attributes"),
        (b'{"players":[{"id":"a"}],"sides":1}', ""),
        (b'{"players":true}', "/players"),
        (b"\xff", ""),
        (b'{"players":[{"id":"\\ud800"}]}', ""),
    ],
)
def test_error_points_into_the_body(body: bytes, where: str) -> None:
    with pytest.raises(InvalidTicket) as caught:
        decode_create(body)
    assert caught.value.where == where
    assert "`$" not in caught.value.message


def test_decode_names_the_place() -> None:
    with pytest.raises(InvalidTicket, match="Expected `object`"):
        decode(b"[]", dict[str, str])


def test_queue_declares_what_it_looks_at() -> None:
    queue = Queue(
        criteria=(Criterion("spread", "rating"),),
        rules=(Rule("same", "mode"),),
        attributes=("level",),
    )
    assert declared([queue]) == {"rating", "mode", "level", "side"}


def test_undeclared_attribute_is_refused_with_its_place() -> None:
    allowed = frozenset({"mode", "side"})
    check_attributes(CreateTicket((Player("a", attributes={"mode": "x"}),)), allowed)
    with pytest.raises(InvalidTicket, match=r"'a/b' .* allowed: mode, side") as caught:
        check_attributes(CreateTicket((Player("a", attributes={"a/b": 1.0}),)), allowed)
    assert caught.value.where == "/players/0/attributes/a~1b"


def test_sets_of_words_are_sorted() -> None:
    created = decode_create(b'{"players":[{"id":"a"}],"attributes":{"maps":["b","a","b"]}}')
    assert isinstance(created, CreateTicket)
    assert new_ticket(created).attributes == {"maps": ("a", "b")}


def test_match_goes_out_with_every_field() -> None:
    match = Match("s0-m1", "duel", 2.5, ("s0-1", "s0-2"), (("s0-1",), ("s0-2",)), (("a",), ("b",)))
    state = msgspec.to_builtins(match_state(match, {"connection": "x"}))
    assert state["quality"] is None
    assert state["assignment"] == {"connection": "x"}
    assert msgspec.to_builtins(feed_match(match, None, 9)) == {
        **state,
        "assignment": None,
        "seq": 9,
    }

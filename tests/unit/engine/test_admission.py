"""Who may enter, and the sentence for everybody else."""

import math

import pytest
from msgspec.structs import replace

from evenmatch.criteria.objective import Objective
from evenmatch.engine.admission.admission import admit, existing, fits, refusal_event
from evenmatch.engine.admission.shard_limits import ShardLimits
from evenmatch.engine.state.reducers import fold
from evenmatch.engine.state.state import Tables
from evenmatch.errors import AlreadyWaiting, InvalidTicket, Overloaded, UnknownQueue
from evenmatch.model.events import Accepted, Configured, Matched, Opened, Refused
from evenmatch.model.inputs import Advance, Configure, Enqueue, Open
from evenmatch.model.match import Match, OpenMatch
from evenmatch.model.queue import Criterion, Queue, Rule
from evenmatch.model.ticket import NewTicket, Player, Rating, Value
from evenmatch.testing import new_ticket, queue, rule, ticket

SMALL = ShardLimits(
    waiting_max=2, players_max=3, queues_max=2, attributes_max=2, values_max=2, text_max=8
)


def tables(
    *queues: Queue, waiting: tuple[NewTicket, ...] = (), pause: tuple[str, ...] = ()
) -> Tables:
    made = Tables()
    fold(made, Configure(0.0, queues or (queue(),), pause=pause), Configured())
    given = Enqueue(0.0, waiting)
    for item in range(len(waiting)):
        fold(made, given, Accepted(item, f"s0-{item + 1}", item + 1))
    return made


def enter(new: NewTicket, into: Tables, limits: ShardLimits = SMALL) -> None:
    objectives = {name: Objective(each) for name, each in into.queues.items()}
    admit(new, into, objectives, limits)


def with_attributes(**attributes: Value) -> NewTicket:
    return NewTicket((Player("a"),), attributes=attributes)


def test_plain_ticket_enters() -> None:
    enter(new_ticket("a", 1500), tables())


def test_player_without_volatility_and_with_facts_enters() -> None:
    enter(NewTicket((Player("a", Rating(1500.0), {"level": 3.0}),)), tables())


def test_ticket_with_everything_at_its_limit_enters() -> None:
    player = Player(
        "p" * 8,
        Rating(-1e15, 0.0, 0.0),
        {"n" * 8: "t" * 8, "b": ("x", "y")},
        ("tank", "healer"),
    )
    new = NewTicket((player,), ("main", "other"), {"ping": {"eu": 1e15, "us": 0.0}, "c": 3.0})

    enter(new, tables(queue(), queue("other")))


@pytest.mark.parametrize(
    ("new", "where", "sentence"),
    [
        (NewTicket(()), "/players", "a party has 1 to 3 players, got 0"),
        (
            new_ticket("a", 1, 2, 3, 4),
            "/players",
            "a party has 1 to 3 players, got 4",
        ),
        (
            NewTicket((Player("a"), Player("a"))),
            "/players",
            "a player is named twice in the party",
        ),
        (
            NewTicket((Player("a"), Player(""))),
            "/players/1/id",
            "a player's id has 1 to 8 characters, got 0",
        ),
        (
            new_ticket("nine char"),
            "/players/0/id",
            "a player's id has 1 to 8 characters, got 9",
        ),
        (
            NewTicket((Player("a", Rating(math.nan)),)),
            "/players/0/rating/mean",
            "a number must be finite and from -1e+15 to 1e+15, got nan",
        ),
        (
            NewTicket((Player("a", Rating(1500.0, -1.0)),)),
            "/players/0/rating/deviation",
            "a number must be finite and from 0 to 1e+15, got -1.0",
        ),
        (
            NewTicket((Player("a", Rating(1500.0, 1.0, math.inf)),)),
            "/players/0/rating/volatility",
            "a number must be finite and from 0 to 1e+15, got inf",
        ),
        (
            NewTicket((Player("a", None, {"x": 2e15}),)),
            "/players/0/attributes/x",
            "a number must be finite and from -1e+15 to 1e+15, got 2000000000000000.0",
        ),
        (
            NewTicket((Player("a", roles=("tank", "tank")),)),
            "/players/0/roles",
            "roles must be different names, preferred first",
        ),
        (
            NewTicket((Player("a", roles=("x", "y", "z")),)),
            "/players/0/roles",
            "roles must be different names, preferred first",
        ),
        (
            with_attributes(a=1.0, b=2.0, c=3.0),
            "/attributes",
            "at most 2 attributes are allowed, got 3",
        ),
        (
            NewTicket((Player("a"),), attributes={"": 1.0}),
            "/attributes/",
            "an attribute's name has 1 to 8 characters",
        ),
        (
            with_attributes(nine_char=1.0),
            "/attributes/nine_cha",
            "an attribute's name has 1 to 8 characters",
        ),
        (
            with_attributes(mode="nine char"),
            "/attributes/mode",
            ("attribute mode is too long: text has at most 8 characters, a set or map 2 entries"),
        ),
        (
            with_attributes(maps=("a", "b", "c")),
            "/attributes/maps",
            ("attribute maps is too long: text has at most 8 characters, a set or map 2 entries"),
        ),
        (
            with_attributes(maps=("nine char",)),
            "/attributes/maps",
            "an entry of maps is too long",
        ),
        (
            with_attributes(ping={"eu": math.nan}),
            "/attributes/ping",
            "a number must be finite and from -1e+15 to 1e+15, got nan",
        ),
        (
            new_ticket("a", queues=("main", "main")),
            "/queues",
            "queues must be different, and 'main' is named twice",
        ),
        (
            new_ticket("a", queues=("main", "b", "c")),
            "/queues",
            "queues must name 1 to 2 queues, got 3",
        ),
        (
            new_ticket("a", 1, 2),
            "/players",
            "queue main takes parties of 1, got 2 players",
        ),
    ],
)
def test_request_that_is_wrong_is_refused_with_a_place_and_a_sentence(
    new: NewTicket, where: str, sentence: str
) -> None:
    with pytest.raises(InvalidTicket) as caught:
        enter(new, tables())

    assert (caught.value.where, caught.value.message) == (where, sentence)


def test_party_sizes_of_the_queue_are_named() -> None:
    squads = queue("squads", 3, 3, party_sizes=(1, 3))

    with pytest.raises(InvalidTicket, match="queue squads takes parties of 1, 3, got 2 players"):
        enter(new_ticket("a", 1, 2), tables(squads))


def test_attribute_that_a_queue_needs_must_be_there() -> None:
    with pytest.raises(InvalidTicket, match="queue main: attribute rating is missing"):
        enter(new_ticket("a"), tables(queue(rules=(rule(limit=3),))))


def test_player_of_a_party_who_lacks_an_attribute_is_named() -> None:
    party = new_ticket("a", Player("ada", None, {"speed": 5.0}), Player("bob"))

    with pytest.raises(InvalidTicket, match="attribute speed of player bob is missing"):
        enter(party, tables(queue("main", 2, 2, rules=(rule("speed", limit=3),))))


def test_unknown_queue_is_refused_with_the_names_of_the_others() -> None:
    with pytest.raises(UnknownQueue) as caught:
        enter(new_ticket("a", queues=("mian",)), tables(queue(), queue("other")))

    assert caught.value.message == "no queue is called 'mian'; allowed: main, other"
    assert caught.value.where == "/queues"


def test_queues_of_two_groups_cannot_be_combined() -> None:
    both = (queue(), Queue(name="other", group="elsewhere"))

    with pytest.raises(InvalidTicket, match="'main' is in 'default', and 'other' in 'elsewhere'"):
        enter(new_ticket("a", queues=("main", "other")), tables(*both))


def test_full_shard_asks_to_try_again() -> None:
    full = tables(waiting=(new_ticket("a"), new_ticket("b")))

    with pytest.raises(Overloaded, match="2 tickets wait here; try again later"):
        enter(new_ticket("c"), full)


def test_paused_queue_asks_to_try_again() -> None:
    both = tables(queue(), queue("other"), pause=("other",))

    enter(new_ticket("a"), both)
    with pytest.raises(Overloaded, match="the queue is paused; try again later"):
        enter(new_ticket("a", queues=("main", "other")), both)


def test_player_who_waits_already_is_refused_with_the_ticket() -> None:
    waiting = tables(waiting=(new_ticket("a"),))

    with pytest.raises(AlreadyWaiting) as caught:
        enter(new_ticket("a"), waiting)

    assert caught.value.ticket == "s0-1"
    assert caught.value.message == "player a is already waiting in ticket s0-1; cancel it first"


def test_player_may_wait_in_another_group() -> None:
    both = (queue(), Queue(name="other", group="elsewhere"))
    waiting = tables(*both, waiting=(new_ticket("a", queues=("main",)),))

    enter(new_ticket("a", queues=("other",)), waiting)


def test_player_of_a_live_exclusive_match_is_refused_with_the_match() -> None:
    playing = tables(queue(exclusive_match=True), waiting=(new_ticket("a"), new_ticket("b")))
    match = Match("s0-m1", "main", 0.0, ("s0-1", "s0-2"), (("s0-1",), ("s0-2",)), (("a",), ("b",)))
    fold(playing, Enqueue(0.0, ()), Matched(match))

    enter(new_ticket("c"), playing)
    with pytest.raises(AlreadyWaiting) as caught:
        enter(new_ticket("a"), playing)

    assert caught.value.match == "s0-m1"
    assert caught.value.message == "player a plays in match s0-m1; finish it first"


def test_player_who_joined_a_running_match_is_refused_with_that_match() -> None:
    queues = replace(queue(), exclusive_match=True, backfill="manual")
    playing = tables(queues, waiting=tuple(map(new_ticket, "abc")))
    match = Match("s0-m1", "main", 0.0, ("s0-1", "s0-2"), (("s0-1",), ("s0-2",)), (("a",), ("b",)))
    fold(playing, Enqueue(0.0, ()), Matched(match))
    opened = OpenMatch("s0-m1", "main", 1, 0.0, ((), ("s0-2",)), (1, 0))
    fold(playing, Open(1.0, "s0-m1", 0, ("a",)), Opened(opened, ("a",)))
    fill = Match("s0-m2", "main", 1.0, ("s0-3",), (("s0-3",), ()), (("c",), ()), extends="s0-m1")
    fold(playing, Advance(1.0), Matched(fill))

    enter(new_ticket("a"), playing)
    with pytest.raises(AlreadyWaiting) as caught:
        enter(new_ticket("c"), playing)

    assert caught.value.match == "s0-m1"


def test_existing_ticket_has_exactly_these_players() -> None:
    squads = tables(queue("squads", 3, 3), waiting=(new_ticket("a", 1, 2), new_ticket("b")))

    assert existing(new_ticket("a", 1, 2), squads) == "s0-1"
    assert existing(NewTicket((Player("a2"), Player("a1"))), squads) == "s0-1"
    assert existing(NewTicket((Player("a1"),)), squads) is None
    assert existing(NewTicket((Player("a1"), Player("b"))), squads) is None
    assert existing(new_ticket("c"), squads) is None


def test_existing_ticket_is_not_looked_for_where_there_can_be_none() -> None:
    assert existing(NewTicket(()), tables()) is None
    assert existing(new_ticket("a", queues=("unknown",)), tables()) is None
    assert existing(new_ticket("a"), Tables()) is None


def test_waiting_ticket_fits_a_new_version_of_its_queue_or_not() -> None:
    solo, pair = ticket("a", 1500), ticket("b", 1500, 1500)

    assert fits(solo, Objective(queue()))
    assert not fits(pair, Objective(queue()))
    assert not fits(ticket("c"), Objective(queue(rules=(rule(limit=3),))))


def test_refusal_becomes_an_event_with_all_it_says() -> None:
    refusal = AlreadyWaiting("busy", where="/players", ticket="s0-1", match="s0-m1")

    assert refusal_event(3, refusal) == Refused(
        3, "already_waiting", "busy", "/players", "s0-1", "s0-m1"
    )


@pytest.mark.parametrize(
    ("ms", "sentence"),
    [
        (math.nan, "a number must be finite and from -1e+15 to 1e+15, got nan"),
        (math.inf, "a number must be finite and from -1e+15 to 1e+15, got inf"),
        (-1.0, "queue main: attribute latency must be finite and >= 0 ms, got -1.0 for us"),
    ],
)
def test_pings_that_are_none_are_refused(ms: float, sentence: str) -> None:
    asks = tables(queue(criteria=(Criterion("latency", "latency"),)))
    with pytest.raises(InvalidTicket) as caught:
        enter(with_attributes(latency={"eu": 30.0, "us": ms}), asks)

    assert str(caught.value) == sentence
    enter(with_attributes(latency={"eu": 30.0, "us": 0.0}), asks)


def test_ticket_without_what_hosts_are_chosen_by_is_refused() -> None:
    asks = tables(queue(rules=(Rule("host_options", "connect"),)))
    with pytest.raises(InvalidTicket, match="queue main: attribute connect is missing"):
        enter(with_attributes(), asks)

"""`first_come`: which of the waiting parties an order serves, and what it refuses."""

import pytest

from evenmatch.errors import ConfigError
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Format, Queue, Rule
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import NOTHING, Decision
from evenmatch.policies.registry import parse_policy
from evenmatch.testing import check_policy, queue, ticket
from tests.extent import extent, only

ORDERS = ["oldest", "lifo", "packing", "largest", "smallest", "head_of_line", "max_weight"]
FORMS = {
    "three against three": Format((3, 3)),
    "two against two on sides": Format((2, 2), ("A", "B")),
    "duels on sides": Format((1, 1), ("A", "B")),
}


def serve(spec: str, for_queue: Queue, *parties: str) -> list[str]:
    """Let parties come one a second; return the matches, each as a word.

    A party is written as its letter, once a player, and its side in capitals: `aaB`.
    """
    matcher = parse_policy(spec).matcher(for_queue, seed=1)
    made: list[str] = []
    for number, party in enumerate(parties, 1):
        matcher.enter(drawn(party, number), float(number))
        made += words(matcher.decide(float(number)))
    return made


def drawn(party: str, number: int) -> Ticket:
    people = [letter for letter in party if letter.islower()]
    side = "".join(letter for letter in party if letter.isupper())
    return ticket(
        party[0],
        *([1500.0] * len(people)),
        at=number,
        sequence=number,
        **({"side": side} if side else {}),
    )


def words(decision: Decision) -> list[str]:
    return ["".join(sorted(grouping.tickets)) for grouping in decision.matches]


PAIRS = queue("pairs", 2, 2)
TRIOS = queue("trios", 3, 3)


@pytest.mark.parametrize(
    ("order", "match"),
    [("oldest", "abd"), ("packing", "abd"), ("lifo", "bcd"), ("head_of_line", "abd")],
)
def test_two_against_two_orders_differ_in_the_solos_who_meet_a_pair(order: str, match: str) -> None:
    assert serve(f"first_come:order={order}", PAIRS, "a", "b", "c", "dd") == [match]


@pytest.mark.parametrize(
    ("order", "match"),
    [("oldest", "abe"), ("largest", "abe"), ("smallest", "bcde"), ("lifo", "bcde")],
)
def test_trio_meets_a_pair_with_a_solo_or_three_solos(order: str, match: str) -> None:
    spec = f"first_come:order={order}"
    assert serve(spec, TRIOS, "aa", "b", "c", "d", "eee") == [match]


def test_weight_of_a_party_is_the_players_of_its_size_who_wait() -> None:
    # The trio with the pair and a solo weighs 3 + 2 + 3, with three solos 3 + 3 + 3 + 3.
    parties = ("aa", "b", "c", "d", "eee")
    assert serve("first_come:order=max_weight", TRIOS, *parties) == ["bcde"]


def test_others_wait_for_the_head_of_the_line() -> None:
    parties = ("aa", "bbb", "ccc", "d", "eee")
    # The pair needs the solo, and both a trio; the two trios could play before.
    assert serve("first_come", TRIOS, *parties) == ["bc", "ade"]
    assert serve("first_come:order=head_of_line", TRIOS, *parties) == ["abd", "ce"]


def test_head_of_a_size_that_never_plays_holds_nobody_up() -> None:
    spec = "first_come:order=head_of_line,shape=unmixed"
    assert serve(spec, TRIOS, "aa", "bbb", "ccc") == ["bc"]


def test_packed_solos_are_not_unbound_for_pairs() -> None:
    parties = ("a", "b", "c", "dd", "ee")
    assert serve("first_come", TRIOS, *parties) == ["abde"]
    assert serve("first_come:order=packing", TRIOS, *parties) == []
    assert serve("first_come:order=packing", TRIOS, *parties, "fff") == ["abcf"]


def test_mates_of_a_packed_party_that_leaves_are_free_again() -> None:
    matcher = parse_policy("first_come:order=packing").matcher(TRIOS, seed=1)
    for number, party in enumerate(("a", "b", "c", "dd"), 1):
        matcher.enter(drawn(party, number), float(number))
        matcher.decide(float(number))
    matcher.leave("b", 5.0)
    assert words(matcher.decide(5.0)) == []
    matcher.enter(drawn("fff", 6), 6.0)
    assert words(matcher.decide(6.0)) == ["adf"]


def test_reserve_keeps_solos_back_until_theta_of_them_wait() -> None:
    few, enough = ("a", "b", "c", "ddd"), ("a", "b", "c", "ddd", "e")
    spec = "first_come:order=reserve,theta=4"
    assert serve("first_come:order=largest", TRIOS, *few) == ["abcd"]
    assert serve(spec, TRIOS, *few) == []
    assert serve(spec, TRIOS, *enough) == ["abcd"]
    # A pair takes one of them at once.
    assert serve(spec, TRIOS, *few, "ee") == ["ade"]


def test_reserve_lets_single_players_play_where_teams_are_of_one() -> None:
    assert serve("first_come:order=reserve,theta=9", queue(), "a", "b") == ["ab"]


def test_shapes_say_which_teams_are_legal() -> None:
    parties = ("aa", "b", "ccc", "dd", "e", "f", "g", "h")
    assert serve("first_come", TRIOS, *parties)[0] == "abc"
    assert serve("first_come:shape=mirrored", TRIOS, *parties)[0] == "abde"
    assert serve("first_come:shape=unmixed", TRIOS, *parties) == ["bcef"]


def test_flexible_player_goes_to_whoever_waits_longest() -> None:
    sides = queue("duel", 1, 1, sides=("A", "B"))
    assert serve("first_come", sides, "aA", "bA", "cB", "d") == ["ac", "bd"]
    assert serve("first_come:order=lifo", sides, "aA", "bA", "cB", "d") == ["bc", "ad"]


def test_pairs_on_sides_meet_only_the_other_side() -> None:
    sides = queue("pairs", 2, 2, sides=("A", "B"))
    assert serve("first_come", sides, "aaA", "bA", "cA", "dd") == ["ad"]
    assert serve("first_come", sides, "aaA", "bA", "cA", "dB", "e") == ["ade"]


def test_same_question_twice_gets_nothing_the_second_time() -> None:
    matcher = parse_policy("first_come").matcher(PAIRS, seed=1)
    for number, party in enumerate(("aa", "bb"), 1):
        matcher.enter(drawn(party, number), 1.0)
    assert words(matcher.decide(1.0)) == ["ab"]
    assert matcher.decide(1.0) == NOTHING
    assert matcher.decide(2.0, fired=True) == NOTHING


def test_open_matches_and_strangers_are_left_alone() -> None:
    matcher = parse_policy("first_come").matcher(PAIRS, seed=1)
    matcher.enter(OpenMatch("m", "pairs", 1, 0.0, (("x",), ()), (1, 2)), 0.0)
    matcher.leave("nobody", 1.0)
    assert matcher.decide(1.0) == NOTHING
    assert matcher.memory() == {}


def test_hundreds_may_wait() -> None:
    sides = queue("duel", 1, 1, sides=("A", "B"))
    for spec in ("first_come", "first_come:order=packing"):
        matcher = parse_policy(spec).matcher(sides, seed=1)
        for number in range(1, 301):
            matcher.enter(ticket(f"a{number}", at=number, sequence=number, side="A"), 1.0 * number)
        assert matcher.decide(300.0) == NOTHING
        matcher.enter(ticket("b", at=301, sequence=301, side="B"), 301.0)
        (match,) = matcher.decide(301.0).matches
        assert match.tickets == ("a1", "b")


@pytest.mark.parametrize(
    ("spec", "for_queue", "sentence"),
    [
        ("first_come:order=fifo", PAIRS, "must be one of oldest, lifo, packing"),
        ("first_come:shape=round", PAIRS, "must be one of any, mirrored, unmixed"),
        ("first_come:order=reserve", PAIRS, "theta belongs to order=reserve"),
        ("first_come:theta=3", PAIRS, "theta belongs to order=reserve"),
        (
            "first_come:order=reserve,theta=-1",
            PAIRS,
            "theta must be between 0 and 1,000,000, got -1",
        ),
        ("first_come", queue(rules=(Rule("spread", "rating", 5.0),)), "queue main has rules"),
        ("first_come", Queue(format=Format((1, 1), roles=(("tank", 1),))), "queue main has roles"),
        ("first_come:order=packing", queue("main", 1, 4), "packing needs teams of the same"),
        ("first_come:shape=mirrored", queue("main", 1, 4), "queue main has 1 against 4"),
        ("first_come", queue("main", 3, 3, party_sizes=(2,)), "no parties of sizes 2 fill"),
        ("first_come:order=packing", queue("main", 3, 3, party_sizes=(2,)), "admit single players"),
        ("first_come", queue("main", 20, 20, sides=("A", "B")), "looks at up to 20,000 sets"),
        ("first_come", queue("main", *[5] * 20), "looks at up to 20,000 sets"),
        (
            "first_come:order=packing",
            queue("main", 20, 20, sides=("A", "B")),
            "fewer party_sizes or no sides",
        ),
        ("first_come:shape=mirrored", queue("main", 20, 20), "at most 16 players in two teams"),
        ("first_come:shape=mirrored", queue("main", 3, 3, 3), "or 6 in more teams; queue main"),
        *only(
            [
                ("first_come:order=packing", queue("main", 100, 100), "looks at up to 20,000 sets"),
                ("first_come", queue("main", 100, 100), "looks at up to 20,000 sets"),
            ]
        ),
    ],
)
def test_what_it_cannot_do_is_said_in_a_sentence(
    spec: str, for_queue: Queue, sentence: str
) -> None:
    with pytest.raises(ConfigError, match=sentence):
        parse_policy(spec).matcher(for_queue, seed=1)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", FORMS)
def test_order_keeps_every_promise_with_parties_and_sides(order: str, name: str) -> None:
    check_policy(
        f"first_come:order={order}", queue=Queue(format=FORMS[name]), seeds=range(extent(2, 6))
    )

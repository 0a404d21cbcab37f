"""Which nodes live, and who gets a shard."""

from evenmatch.server.cluster.members import (
    ALIVE_SECONDS,
    MEMBERS_MAX,
    REFUSED_SECONDS_MAX,
    RELUCTANCE,
    Members,
    Refusals,
)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def members(clock: Clock) -> Members:
    return Members("a/1@h:1", clock)


def test_node_that_is_alone_takes_every_shard() -> None:
    assert members(Clock()).reluctance(5, total=6) == 0.0
    assert members(Clock()).lighter(6) == []
    assert members(Clock()).idlest() is None


def test_node_with_its_share_lets_others_ask_first() -> None:
    known = members(Clock())
    known.hear("b/1@h:2", 0)
    assert known.reluctance(1, total=4) == 0.0
    assert known.reluctance(2, total=4) == RELUCTANCE
    known.hear("c/1@h:3", 0)
    assert known.reluctance(1, total=3) == RELUCTANCE


def test_shard_goes_to_whom_has_least_and_only_if_that_evens_it_out() -> None:
    known = members(Clock())
    known.hear("b/1@h:2", 2)
    known.hear("c/1@h:3", 1)
    assert known.lighter(3)[0] == "c/1@h:3"
    assert known.lighter(2) == []
    known.note_handover("c/1@h:3")
    assert known.lighter(3) == []
    assert known.idlest() in ("b/1@h:2", "c/1@h:3")


def test_node_that_is_silent_gets_nothing() -> None:
    clock = Clock()
    known = members(clock)
    known.hear("b/1@h:2", 0)
    clock.now = ALIVE_SECONDS + 0.1
    assert (known.alive, known.lighter(9), known.reluctance(8, total=9)) == ([], [], 0.0)


def test_process_that_starts_anew_takes_the_place_of_the_one_before() -> None:
    known = members(Clock())
    known.hear("b/1@h:2", 3)
    known.hear("b/2@h:2")
    assert [(each.owner, each.shards_held) for each in known.alive] == [("b/2@h:2", 0)]
    # What is told late of the old one changes nothing.
    known.forget("b/1@h:2")
    assert len(known.alive) == 1
    known.forget("b/2@h:2")
    assert known.alive == []


def test_own_name_and_names_of_no_node_are_not_others_and_there_is_a_most() -> None:
    known = members(Clock())
    known.hear("a/1@h:1", 0)
    known.hear("laptop", 0)
    assert known.alive == []
    for number in range(MEMBERS_MAX + 5):
        known.hear(f"n/1@h:{number + 10}", 0)
    assert len(known.alive) == MEMBERS_MAX


def test_refusals_are_remembered_for_longer_each_time_and_forgotten_in_the_end() -> None:
    clock = Clock()
    refusals = Refusals(clock)
    lengths = []
    for _ in range(8):
        refusals.note("b/1@h:2", "/s0")
        began = clock.now
        while refusals.holds("b/1@h:2", "/s0"):
            clock.now += 1.0
        lengths.append(clock.now - began)
    assert lengths == [4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 256.0]
    assert not refusals.holds("b/1@h:2", "/s1")
    clock.now += REFUSED_SECONDS_MAX + 1.0
    refusals.note("c/1@h:3", "/s0")
    assert list(refusals._known) == [("c/1@h:3", "/s0")]

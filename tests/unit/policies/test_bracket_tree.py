"""Brackets halve where many play, and merge where few do."""

import random

import msgspec
import pytest

from evenmatch.policies.adaptive_brackets import DEPTH_MAX, BracketTree


def tree(width: float = 500.0, split_at: int = 6, merge_below: int = 3) -> BracketTree:
    return BracketTree(width, split_at, merge_below, {})


def play(brackets: BracketTree, one: float, two: float, times: int = 1) -> None:
    for _ in range(times):
        brackets.count(brackets.of(one), brackets.of(two))


def bounds(brackets: BracketTree, rating: float) -> tuple[float, float]:
    depth, index = brackets.of(rating)
    width = brackets.width((depth, index))
    return index * width, (index + 1) * width


def test_initial_brackets_have_the_width_and_exclude_their_upper_end() -> None:
    assert bounds(tree(), 499.9) == (0, 500)
    assert bounds(tree(), 500.0) == (500, 1000)
    assert bounds(tree(), -0.1) == (-500, 0)


def test_six_matches_in_a_frame_halve_a_bracket() -> None:
    brackets = tree()
    play(brackets, 600, 900, times=6)
    assert bounds(brackets, 600) == (500, 1000)
    assert brackets.will_change

    assert brackets.end_frame()

    assert bounds(brackets, 600) == (500, 750)
    assert bounds(brackets, 750) == (750, 1000)
    assert bounds(brackets, 499) == (0, 500)


def test_five_matches_halve_nothing_and_are_forgotten() -> None:
    brackets = tree()
    for _ in range(3):
        play(brackets, 600, 900, times=5)
        assert not brackets.will_change
        assert not brackets.end_frame()
    assert bounds(brackets, 600) == (500, 1000)


def test_match_across_two_brackets_counts_half_in_each() -> None:
    brackets = tree()
    play(brackets, 400, 600, times=11)
    assert not brackets.end_frame()
    play(brackets, 400, 600, times=10)
    play(brackets, 400, 300)
    assert brackets.end_frame()
    assert bounds(brackets, 400) == (250, 500)
    assert bounds(brackets, 600) == (500, 1000)


def test_halves_with_few_matches_in_two_frames_merge() -> None:
    brackets = tree()
    play(brackets, 600, 900, times=6)
    brackets.end_frame()
    play(brackets, 600, 600)
    play(brackets, 900, 900)
    assert not brackets.end_frame()
    assert bounds(brackets, 600) == (500, 750)
    assert brackets.end_frame()
    assert bounds(brackets, 600) == (500, 1000)
    assert not brackets.will_change


def test_busy_frame_between_begins_the_count_anew() -> None:
    brackets = tree()
    play(brackets, 600, 900, times=6)
    brackets.end_frame()
    for _ in range(3):
        assert not brackets.end_frame()
        play(brackets, 600, 900, times=3)
        assert not brackets.end_frame()
    assert bounds(brackets, 600) == (500, 750)


def test_half_that_is_halved_merges_with_its_own_halves_first() -> None:
    brackets = tree()
    play(brackets, 600, 900, times=6)
    brackets.end_frame()
    play(brackets, 600, 600, times=6)
    brackets.end_frame()
    assert bounds(brackets, 600) == (500, 625)

    changes = [brackets.end_frame() for _ in range(5)]

    # The inner halves merge after two frames, the outer after two more.
    assert changes == [False, True, False, True, False]
    assert bounds(brackets, 600) == (500, 1000)


def test_reach_is_the_narrower_width_of_neighbours_and_nothing_beyond() -> None:
    brackets = tree()
    play(brackets, 600, 900, times=6)
    brackets.end_frame()
    low, middle, high, top = (brackets.of(rating) for rating in (499, 600, 990, 1000))

    assert brackets.reach(low, low) == 500
    assert brackets.reach(low, middle) == brackets.reach(middle, low) == 250
    assert brackets.reach(middle, high) == 250
    assert brackets.reach(low, high) == -1
    assert brackets.reach(high, top) == brackets.reach(top, high) == 250
    assert brackets.reach(middle, top) == -1


def test_bracket_is_halved_only_so_often() -> None:
    brackets = tree()
    for _ in range(DEPTH_MAX + 5):
        play(brackets, 600, 600, times=6)
        brackets.end_frame()

    assert brackets.of(600)[0] == DEPTH_MAX
    play(brackets, 600, 600, times=6)
    assert not brackets.end_frame()


def test_restart_keeps_brackets_quiet_frames_and_counts() -> None:
    rng = random.Random(3)
    plain = restarted = tree(split_at=3, merge_below=2)
    for _ in range(300):
        one, two = (rng.choice((100.0, 600.0, 610.0, 990.0, 1400.0)) for _ in range(2))
        play(plain, one, two)
        if restarted is not plain:
            play(restarted, one, two)
        if rng.random() < 0.3:
            changed = plain.end_frame()
            if restarted is not plain:
                assert restarted.end_frame() == changed
        known = msgspec.json.decode(msgspec.json.encode(plain.memory()))
        restarted = BracketTree(500.0, 3, 2, known)
        assert restarted.memory() == plain.memory()
        assert restarted.will_change == plain.will_change
    assert len(plain.memory()["halved"]) > 0


@pytest.mark.parametrize("seed", range(5))
def test_every_rating_is_in_exactly_one_bracket(seed: int) -> None:
    rng = random.Random(seed)
    brackets = tree(width=rng.choice((500.0, 0.3, 77.7)), split_at=2, merge_below=1)
    width = brackets.width((0, 0))
    for _ in range(200):
        play(brackets, *(2 * [width * rng.uniform(-2, 2)]))
        if rng.random() < 0.1:
            brackets.end_frame()
    ratings = sorted(width * rng.uniform(-2, 2) for _ in range(500))
    found = [brackets.of(rating) for rating in ratings]
    # Brackets come one after the other, without a gap between those that touch.
    lows = [index * 2.0 ** (DEPTH_MAX - depth) for depth, index in found]
    assert lows == sorted(lows)
    assert len(set(lows)) == len(set(found))

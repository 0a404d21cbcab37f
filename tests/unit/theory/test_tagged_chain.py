import time
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from evenmatch.errors import ConfigError
from evenmatch.theory.rates import rational
from evenmatch.theory.tagged_chain import Pool, tagged_chain
from evenmatch.theory.two_v_two import rule_of
from evenmatch.theory.zones import zones
from tests.draws import chance, rates


def simulate(sizes, arrivals, decide, count: int, rng: np.random.Generator) -> dict[str, list]:
    """Return the waits of the parties of each class, played by the rule itself."""
    names = list(arrivals)
    speeds = np.array([arrivals[name] for name in names])
    classes = rng.choice(names, count, p=speeds / speeds.sum())
    times = np.cumsum(rng.exponential(1 / speeds.sum(), count))
    waits: dict[str, list] = {name: [] for name in names}
    pool: list[tuple[str, float]] = []
    for name, at in zip(classes.tolist(), times.tolist(), strict=True):
        pool.append((name, at))
        while chosen := set(decide(tuple(each for each, _ in pool))):
            for index in chosen:
                waits[pool[index][0]].append(at - pool[index][1])
            pool = [each for index, each in enumerate(pool) if index not in chosen]
    return waits


def any_four_players(pool: Pool) -> list[int]:
    """Let the newest go first, whatever fits into four seats; two rare kinds of odd ones wait."""
    seats, chosen = 4, []
    for index in reversed(range(len(pool))):
        size = {"solo": 1, "duo": 2, "trio": 3}[pool[index]]
        if size <= seats:
            chosen.append(index)
            seats -= size
    if seats == 0:
        return chosen
    return [0] if len(pool) > 6 else []


def test_an_odd_rule_is_solved_as_it_plays() -> None:
    sizes = {"solo": 1, "duo": 2, "trio": 3}
    arrivals = {"solo": 0.5, "duo": 0.3, "trio": 0.2}
    found = tagged_chain(sizes, arrivals, any_four_players)
    waits = simulate(sizes, arrivals, any_four_players, 20_000, chance("odd rule", default=5))
    for name, seen in waits.items():
        # Neighbours wait together, so the error is that of means of blocks.
        blocks = np.array([block.mean() for block in np.array_split(np.array(seen), 40)])
        error = blocks.std(ddof=1) / np.sqrt(40)
        assert abs(blocks.mean() - found.classes[name].mean) < 3 * error, name
        law = found.law(name)
        assert law.mean == pytest.approx(found.classes[name].mean, rel=1e-10)
        assert law.var == pytest.approx(found.classes[name].var, rel=1e-9)
        assert law.p_no_wait == pytest.approx(found.classes[name].p_no_wait, rel=1e-10)
        shares = np.mean(np.array(seen)[:, None] <= [law.quantile(0.5), law.quantile(0.9)], axis=0)
        assert shares[1] == pytest.approx(0.9, abs=0.02)
        assert shares[0] >= 0.48


def test_fractions_and_floats_agree_at_random_points() -> None:
    rng = chance("fractions and floats")
    for order in ("fifo", "lifo", "two_queues"):
        solo, party = rates(rng, 2)
        given = ({"solo": 1, "party": 2}, {"solo": solo, "party": party}, rule_of(order))
        exact, floats = tagged_chain(*given, exact=True), tagged_chain(*given)
        assert isinstance(exact.players.mean, Fraction)
        for one, other in [
            (exact.players, floats.players),
            (exact.parties, floats.parties),
            *((exact.classes[name], floats.classes[name]) for name in given[0]),
        ]:
            for figure in ("mean", "var", "p_no_wait"):
                wanted = float(getattr(one, figure))
                assert getattr(other, figure) == pytest.approx(wanted, rel=1e-10), given


def test_pools_have_the_share_of_time_that_the_paper_gives() -> None:
    found = tagged_chain(
        {"solo": 1}, {"solo": 0.7}, lambda pool: range(3) if len(pool) == 3 else ()
    )
    assert found.pools == pytest.approx({("solo",) * n: 1 / 3 for n in range(3)})


def test_littles_law_holds_for_each_class() -> None:
    found = tagged_chain(
        {"solo": 1, "party": 2},
        {"solo": Fraction(3, 7), "party": Fraction(1, 5)},
        rule_of("lifo"),
        exact=True,
    )
    for name, rate in (("solo", Fraction(3, 7)), ("party", Fraction(1, 5))):
        waiting = sum(share * Counter(pool)[name] for pool, share in found.pools.items())
        assert waiting == rate * found.classes[name].mean


def oldest_in_either_zone(pool: Pool) -> tuple[int, ...]:
    """Let the newcomer play the oldest of his zones; flexible ones are in both."""
    newest = len(pool) - 1
    for index in range(newest):
        if pool[index] == pool[newest] or "flexible" in (pool[index], pool[newest]):
            return (index, newest)
    return ()


def test_two_zones_wait_as_a_party_that_is_followed() -> None:
    rng = chance("zones")
    given = dict(zip(("junior", "expert", "flexible"), rates(rng, 3), strict=True))
    found = tagged_chain(dict.fromkeys(given, 1), given, oldest_in_either_zone, exact=True)
    expected = zones(**given).exact
    for name in given:
        assert str(found.classes[name].mean) == expected[f"mean_{name}"]
    assert str(found.players.mean) == expected["mean"]
    # (40)-(43): a junior who meets nobody, or only an expert, waits until somebody may play him.
    a, b, c = (rational(rate) for rate in given.values())
    total = a + b + c
    alone = (1 / total + b / total**2) / (1 - (b / total) ** 2)
    behind = 1 / total + (b + c) * alone / total
    waiting = found.pools[()] * alone + found.pools["expert",] * behind
    assert found.classes["junior"].mean == waiting


def test_two_against_two_takes_less_than_a_second() -> None:
    started = time.thread_time()
    found = tagged_chain(
        {"solo": 1, "party": 2}, {"solo": 0.123, "party": 4.56}, rule_of("lifo"), exact=True
    )
    found.law().quantile(0.99)
    assert time.thread_time() - started < 1.0


def test_a_class_of_rate_zero_is_left_out() -> None:
    found = tagged_chain(
        {"solo": 1, "party": 2}, {"solo": 1.0, "party": 0.0}, rule_of("two_queues"), exact=True
    )
    assert [*found.classes] == ["solo"]
    assert found.players.mean == Fraction(3, 2)


def test_the_first_player_who_never_plays_is_forgotten_in_the_long_run() -> None:
    found = tagged_chain({"a": 1}, {"a": 1.0}, lambda pool: (1, 2) if len(pool) > 2 else ())
    assert found.pools == {(): 0.0, ("a",): 0.5, ("a", "a"): 0.5}
    assert found.players.mean == 0.5


@pytest.mark.parametrize(
    ("sizes", "arrivals", "decide", "sentence"),
    [
        ({"a": 1}, {"a": 1.0}, lambda pool: (), "pool reaches 100 parties and more than 5,000"),
        (
            {"a": 1, "b": 1},
            {"a": 1.0, "b": 1.0},
            lambda pool: (0, 1) if pool[:2] == ("a", "b") else (),
            "may have no limit: the exact wait needs a rule that keeps the pool small; simulate it",
        ),
        ({"a": 1}, {"a": 1.0}, lambda pool: (0, 5), "must return indices of the pool, 0 to 0, got"),
        ({"a": 1}, {"a": -1.0}, lambda pool: (), "the rate of a must be >= 0 per second"),
        ({"a": 1}, {"a": float("nan")}, lambda pool: (), "the rate of a must be >= 0 per second"),
        ({"a": 1}, {"a": 0.0}, lambda pool: (), "one rate must be > 0"),
        ({"a": 0}, {"a": 1.0}, lambda pool: (), "the size of a must be 1 to 1,000, got 0"),
        ({"a": 1}, {"b": 1.0}, lambda pool: (), "must name the same classes, got a and b"),
        ({}, {}, lambda pool: (), "there must be 1 to 100 classes, got 0"),
    ],
)
def test_what_cannot_be_solved_is_one_sentence(sizes, arrivals, decide, sentence) -> None:
    with pytest.raises(ConfigError) as raised:
        tagged_chain(sizes, arrivals, decide)
    assert sentence in str(raised.value)


def test_the_law_of_an_unknown_class_is_refused() -> None:
    found = tagged_chain({"a": 1}, {"a": 1.0}, lambda pool: pool and (0,))
    assert found.law("a").p_no_wait == 1.0
    with pytest.raises(ConfigError, match="class b is unknown, classes are a"):
        found.law("b")

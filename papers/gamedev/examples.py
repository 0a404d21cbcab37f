"""The thread's examples (a) to (f), simulated; and its statement about a gap of 500 points."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from evenmatch.config.files import parse_scenario
from evenmatch.lab.simulate import simulate
from evenmatch.model.match import Match
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.ratings.rate import rate
from evenmatch.simulation.arrivals.stream import Arrival
from papers.shared.estimates import ratio
from papers.shared.findings import Effort, Findings, Part, Row, judged
from papers.shared.words import table_of_rows

Comer = tuple[float, str, float]
"""Time of arrival, name and rating of a player."""

Expected = tuple[str, tuple[str, str], float | None]
"""Words about a pair, the two players, and when they meet; None means never."""

STEPS = "60-250+120-350+180-450+240-550"
FRACTIONS = "+".join(f"{10 * n}-{(5 + 5 * n) / 100:g}" for n in range(1, 31))
END = 1e5
"""After this time nothing more is expected, seconds."""


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """Players who come to a queue of duels, and its policy.

    Args:
        id: Of its rows.
        name: Of its files.
        policy: SPEC.
        comers: By ascending time.
        until: When the run ends, seconds.
    """

    id: str
    name: str
    policy: str
    comers: tuple[Comer, ...]
    until: float = END

    @property
    def file(self) -> str:
        """Return the name of its scenario."""
        return f"{self.name}.toml"

    def scenarios(self) -> dict[str, str]:
        """Return the scenario and the arrivals that it reads."""
        lines = [f"{at!r},{name},{rating!r}" for at, name, rating in self.comers]
        arrivals = f'\n[arrivals]\nprocess = "file"\nfile = "{self.name}.csv"\n'
        return {
            self.file: self._toml() + arrivals,
            f"{self.name}.csv": "\n".join(["at,player,rating", *lines, ""]),
        }

    def _toml(self) -> str:
        return (
            f'until = {self.until}\n\n[[queue]]\nname = "duel"\nteams = 2\nplayers = 1\n'
            f'policy = "{self.policy}"\nattributes = ["rating"]\n'
        )

    def matches(self) -> list[Match]:
        """Return the matches of the run."""
        arrivals = [
            Arrival(at, NewTicket((Player(name, attributes={"rating": rating}),), id=name))
            for at, name, rating in self.comers
        ]
        return simulate(parse_scenario(self._toml()), arrivals=arrivals).history.matches

    def findings(self, *expected: Expected) -> Findings:
        """Simulate the example, which has no randomness, and compare when people meet.

        Args:
            expected: For each pair: words about it, the two, and when they meet; None = never.
        """
        matches = self.matches()
        rows = []
        for what, pair, at in expected:
            found = instant_of(matches, *pair)
            agrees = found == at or (found and at and math.isclose(found, at, abs_tol=1e-5))
            never = at is None
            rows.append(
                Row(
                    id=self.id,
                    params={
                        "policy": self.policy,
                        "what": f"{what}: matches made" if never else what,
                    },
                    exact=0.0 if never else at,
                    simulated=float(found is not None) if never else found,
                    half_width=0.0,
                    verdict="holds" if agrees else "differs",
                    scenario=self.file,
                )
            )
        return Findings(tuple(rows), scenarios=self.scenarios())


def examples(effort: Effort) -> list[Part]:
    """Return a part for each of the thread's examples."""
    makers = {
        "gamedev.a": _widening,
        "gamedev.b": _relative,
        "gamedev.c": _brackets,
        "gamedev.d": _percentile,
        "gamedev.e": _rounds,
        "gamedev.f": _alone,
        "gamedev.chance": _chance,
        "gamedev.points": _virtual,
    }
    return [Part((name,), maker, (effort.seed,), _finish) for name, maker in makers.items()]


def _finish(results: Sequence[Findings]) -> Findings:
    found = together(*results)
    table = table_of_rows("The thread's examples", "Instants and waits in seconds.", found.rows)
    return msgspec.structs.replace(found, tables=(table,))


def together(*found: Findings) -> Findings:
    """Return the rows and scenarios of several runs of one example."""
    scenarios = {name: text for each in found for name, text in each.scenarios.items()}
    return Findings(tuple(row for each in found for row in each.rows), scenarios=scenarios)


def instant_of(matches: Sequence[Match], *names: str) -> float | None:
    """Return when these people met; None if they did not."""
    for match in matches:
        if set(match.tickets) == set(names):
            return match.at
    return None


def _widening(seed: int) -> Findings:
    """(a): the pair that fits meets first, the rest when the limit reaches it."""
    del seed
    comers = (
        (0.0, "2300", 2300.0),
        (0.0, "2000", 2000.0),
        (60.0, "2050", 2050.0),
        (60.0, "1900", 1900.0),
    )
    found = []
    for accept, expected in (("both", 240.0), ("either", 180.0)):
        policy = f"window:limit=150,limit_max=500,steps={STEPS},accept={accept}"
        found.append(
            Example(id="gamedev.a", name=f"a-{accept}", policy=policy, comers=comers).findings(
                ("2050 meets 2000", ("2050", "2000"), 60.0),
                ("2300 meets 1900", ("2300", "1900"), expected),
            )
        )
    return together(*found)


def _relative(seed: int) -> Findings:
    """(b): 5 % of one's own rating, 5 points of it more every 10 s, beyond 100 %."""
    del seed
    policy = f"window:limit=0.05,unit=relative,steps={FRACTIONS}"
    comers = ((0.0, "800", 800.0), (300.0, "2000", 2000.0))
    example = Example(id="gamedev.b", name="b", policy=policy, comers=comers)
    return example.findings(("800 meets 2000, who came at 300 s", ("800", "2000"), 410.0))


def _brackets(seed: int) -> Findings:
    """(c): six matches halve a bracket; while it is halved, 499 does not meet 990."""
    del seed
    crowd = tuple(
        (float(pair), f"{pair}{side}", 700.0 + pair) for pair in range(6) for side in ("a", "b")
    )
    comers = (*crowd, (70.0, "499", 499.0), (70.0, "990", 990.0))
    example = Example(id="gamedev.c", name="c", policy="adaptive_brackets", comers=comers)
    what = "499 meets 990 when the halves have merged"
    return example.findings((what, ("499", "990"), 180.0))


def _percentile(seed: int) -> Findings:
    """(d): a player at the top tenth meets those between the top 5 % and 15 %."""
    ranks = np.random.default_rng(seed).permutation(2_000).tolist()
    # Two of each rating, who meet at once: they make up the distribution and are gone.
    crowd = tuple(
        (float(place), f"{place}{side}", float(rank))
        for place, rank in enumerate(ranks)
        for side in ("a", "b")
    )
    at = float(len(ranks))
    found = []
    for share in (0.06, 0.14, 0.04, 0.17):
        other = f"top {100 * share:g} %"
        last = ((at, "top 10 %", 1_800.0), (at + 1.0, other, 2_000.0 * (1.0 - share)))
        example = Example(
            id="gamedev.d",
            name=f"d{100 * share:g}",
            policy="window:limit=0.05,unit=percentile",
            comers=(*crowd, *last),
            until=at + 10.0,
        )
        expected = at + 1.0 if 0.05 <= share <= 0.15 else None
        found.append(example.findings((f"top 10 % meets {other}", ("top 10 %", other), expected)))
    return together(*found)


def _rounds(seed: int) -> Findings:
    """(e): rounds of 120 s let equal players wait 60 s on average."""
    rng = np.random.default_rng(seed)
    # Two in every round, so that nobody is left over; the first two start the clock.
    starts = 120.0 * np.arange(1, 1_001)[:, None]
    times = [0.0, 0.0, *np.sort(starts + rng.uniform(0.0, 120.0, (1_000, 2)), axis=None).tolist()]
    comers = tuple((at, str(place), 1500.0) for place, at in enumerate(times))
    policy = "closest_random:every=120"
    example = Example(id="gamedev.e", name="e", policy=policy, comers=comers)
    waits = [
        math.fsum(match.at - times[int(name)] for name in match.tickets) / 2.0
        for match in example.matches()[1:]
    ]
    mean = ratio(waits, [1.0] * len(waits))
    row = Row(
        id="gamedev.e",
        params={"policy": policy, "what": "mean wait of equal players"},
        printed=60.0,
        exact=60.0,
        simulated=mean.value,
        half_width=mean.half_width,
        verdict=judged(60.0, truth=mean.value, half_width=2.0 * mean.half_width),
        scenario=example.file,
    )
    return Findings((row,), scenarios=example.scenarios())


def _alone(seed: int) -> Findings:
    """(f): two players alone are matched at once, unless a clock or a floor prevents it."""
    del seed
    comers = ((0.0, "0", 0.0), (0.0, "1000", 1000.0))
    cases: tuple[tuple[str, str, float | None], ...] = (
        ("f", "weighted", 0.0),
        ("f-every", "weighted:every=60", 60.0),
        ("f-floor", "weighted:floor=0.001", None),
    )
    return together(
        *(
            Example(id="gamedev.f", name=name, policy=policy, comers=comers).findings(
                ("0 meets 1000, alone", ("0", "1000"), expected)
            )
            for name, policy, expected in cases
        )
    )


def _chance(seed: int) -> Findings:
    """Return the meaning of 500 points, by Elo, and by Glicko at equal certainty."""
    del seed
    at_500 = 1.0 / (1.0 + 10.0 ** (500.0 / 400.0))
    gap = 400.0 * math.log10(1.0 / 0.03 - 1.0)
    cases = (
        ("chance of the lower player, 500 points apart", 0.03, at_500),
        ("points apart at a chance of 3 %", 500.0, gap),
    )
    return Findings(
        tuple(
            Row(
                id="gamedev.chance",
                params={"what": what},
                printed=printed,
                corrected=exact,
                exact=exact,
                verdict=judged(printed, truth=exact, corrected=exact),
            )
            for what, printed, exact in cases
        )
    )


DEVIATION = 50.0


def _virtual(seed: int) -> Findings:
    """2655 against 2044, matched by a virtual rating: the changes of both ratings."""
    del seed
    cases = (
        ("A wins: change of A, 'maybe a single point'", 1.0, _change(0, 0), None),
        ("A wins: change of B", -1.0, _change(1, 0), None),
        ("A loses: change of A, as in an even match", None, _change(0, 1), _change(0, 1, 2655.0)),
        ("A loses: change of B, as in an even match", None, _change(1, 1), _change(1, 1, 2044.0)),
    )
    rows = []
    for what, printed, found, even in cases:
        aim, allowed = (printed, 1.0) if printed is not None else (even, 1e-6)
        assert aim is not None
        rows.append(
            Row(
                id="gamedev.points",
                params={"what": f"2655 against 2044, deviations {DEVIATION:g}; {what}"},
                printed=printed,
                exact=even,
                simulated=found,
                half_width=0.0,
                verdict="holds" if abs(found - aim) < allowed else "differs",
            )
        )
    return Findings(tuple(rows))


def _change(player: int, winner: int, both: float | None = None) -> float:
    """Return the change of a player's mean by a wide match in Glicko.

    Args:
        player: 0 for A, 1 for B.
        winner: Likewise.
        both: The mean of both; None means 2655 and 2044.
    """
    means = (2655.0, 2044.0) if both is None else (both, both)
    given = dict(zip("AB", ({"mean": m, "deviation": DEVIATION} for m in means), strict=True))
    outcome = {"teams": [["A"], ["B"]], "ranks": [1 + winner, 2 - winner], "wide": True}
    after = rate("glicko", given, [outcome])["AB"[player]]["mean"]
    assert after is not None
    return float(after) - means[player]

"""Policies on streams of arrivals: what they make of the same players, at the same mean wait.

A policy that lets people wait longer makes better matches, so two policies are compared at equal
mean waits. The other one, such as `rounds`, runs at three periods about the one whose mean wait is
that of the policy; lines through the three say what it would have made of that wait.

Nothing is dropped: players who came after the warm-up and early enough before the end count, with
the wait they had when the stream ended if nobody had matched them (`censored`), and such players
are given.

    python -m papers.studies.streams scenarios/world_3v3.toml --seeds 201:211
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import msgspec
import numpy as np

from evenmatch.config.files import load_scenario
from evenmatch.errors import ConfigError, MatchmakingError
from evenmatch.lab.simulate import simulate
from evenmatch.lab.study.study import student_t
from evenmatch.model.scenario import Scenario

WARMUP = 1_200.0
COOLDOWN = 900.0
"""Seconds at the begin and at the end of a stream whose arrivals do not count."""
STREAMS_MAX = 1_000
PERIOD = 1.7
"""The first period of the other policy, in mean waits of the policy."""
AROUND = (0.85, 1.15)
"""Its next ones, as shares of the period whose mean wait seems to be that of the policy."""


class StreamFigures(msgspec.Struct, frozen=True):
    """What one policy made of one stream; all is per player.

    Args:
        mean: Mean quality, in points of 100.
        p10: Tenth percentile of quality, in points of 100.
        wait: Mean wait, s.
        p95: 95th percentile of waits, s.
        longest: The longest wait, s.
        players: How many count.
        censored: Of them, those without a match, with their waits so far; not in `mean` and `p10`.
    """

    mean: float
    p10: float
    wait: float
    p95: float
    longest: float
    players: int
    censored: int


class Comparison(msgspec.Struct, frozen=True):
    """A policy against another one at the same mean wait, on one stream.

    Args:
        mean: Mean quality, less that of the other, points.
        p10: Tenth percentile of quality, less that of the other, points.
        p95: 95th percentile of waits, as a multiple of that of the other.
        wait: The mean wait of both, s.
    """

    mean: float
    p10: float
    p95: float
    wait: float


class Window(msgspec.Struct, frozen=True):
    """Which arrivals count: those after the warm-up and so long before the end, s."""

    warmup: float = WARMUP
    cooldown: float = COOLDOWN


ALL_BUT_ENDS = Window()


def stream_figures(
    scenario: Scenario, policy: str, seed: int, window: Window = ALL_BUT_ENDS
) -> StreamFigures:
    """Run a policy on one stream.

    Raises:
        ConfigError: The stream has no duration, or nobody counts.
    """
    end = scenario.arrivals.duration if scenario.arrivals is not None else None
    if end is None or end <= window.warmup + window.cooldown:
        raise ConfigError(
            f"a stream needs arrivals for more than the {window.warmup:g} s of its warm-up and "
            f"the {window.cooldown:g} s at its end that do not count, got {end} s; give --duration"
        )
    past = simulate(scenario, policy=policy, seed=seed).history
    qualities: list[float] = []
    waits: list[float] = []
    censored = 0
    for came, ended, size, number in zip(
        past.enqueued_at, past.ended_at, past.sizes, past.match_of, strict=True
    ):
        if not window.warmup <= came < end - window.cooldown:
            continue
        waits += [ended - came] * size
        quality = None if number < 0 else past.matches[number].quality
        if quality is None:
            censored += size
        else:
            qualities += [100.0 * quality] * size
    if not qualities:
        raise ConfigError(f"policy {policy} made no match that counts; give a longer --duration")
    return StreamFigures(
        mean=float(np.mean(qualities)),
        p10=float(np.quantile(qualities, 0.1)),
        wait=float(np.mean(waits)),
        p95=float(np.quantile(waits, 0.95)),
        longest=float(max(waits)),
        players=len(waits),
        censored=censored,
    )


def compare(
    scenario: Scenario, policy: str, against: str, seed: int, window: Window = ALL_BUT_ENDS
) -> Comparison:
    """Compare a policy with one that takes `every`, at the policy's mean wait, on one stream."""
    own = stream_figures(scenario, policy, seed, window)
    period = PERIOD * own.wait
    others = [stream_figures(scenario, _every(against, period), seed, window)]
    # Who sat out a round waits for another, so a mean wait is not just half a period.
    period *= own.wait / others[0].wait
    others += [
        stream_figures(scenario, _every(against, share * period), seed, window) for share in AROUND
    ]
    waits = [each.wait for each in others]
    return Comparison(
        mean=own.mean - _on_line(own.wait, waits, [each.mean for each in others]),
        p10=own.p10 - _on_line(own.wait, waits, [each.p10 for each in others]),
        p95=own.p95 / _on_line(own.wait, waits, [each.p95 for each in others]),
        wait=own.wait,
    )


def _every(policy: str, period: float) -> str:
    return f"{policy}{',' if ':' in policy else ':'}every={period:.6g}"


def _on_line(at: float, places: Sequence[float], values: Sequence[float]) -> float:
    """Return the value at a place of the straight line through some (least squares)."""
    return float(np.polyfit(np.array(places) - at, np.array(values), 1)[1])


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and half of its 95 % interval; inf from one value.

    >>> mean, half = interval([1.0, 3.0])
    >>> mean, round(half, 2)
    (2.0, 12.71)
    """
    if len(values) < 2:
        return float(np.mean(values)), float("inf")
    error = float(np.std(values, ddof=1)) / len(values) ** 0.5
    return float(np.mean(values)), student_t(len(values) - 1) * error


def lines(found: Sequence[Comparison]) -> list[str]:
    """Return what the comparisons say together."""
    names = {
        "mean": "mean quality, points more",
        "p10": "worst tenth, points more",
        "p95": "p95 wait, times that of the other",
        "wait": "mean wait of both, s",
    }
    rows = []
    for name, words in names.items():
        mean, half = interval([getattr(each, name) for each in found])
        rows.append(f"{words:<34} {mean:8.2f} +- {half:.2f}")
    return rows


def seeds_of(text: str) -> range:
    """Return the seeds of `FIRST:END`, without its end, or of one number.

    Raises:
        ConfigError: It is neither, or too many.
    """
    first, colon, end = text.partition(":")
    end = end if colon else first
    if not (first.isdecimal() and end.isdecimal() and len(text) <= 20):
        raise ConfigError(f"seeds are FIRST:END such as 201:211, or one number, got {text!r}")
    found = range(int(first), int(end) if colon else int(first) + 1)
    if not 1 <= len(found) <= STREAMS_MAX:
        raise ConfigError(f"give 1 to {STREAMS_MAX:,} seeds, got {text!r}")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare two policies on some streams, and print the differences; 2 for bad input."""
    parser = argparse.ArgumentParser(prog="python -m papers.studies.streams", description=DOC)
    parser.add_argument("scenario", help="a scenario, TOML")
    parser.add_argument("--policy", default="rolling", help="a SPEC")
    parser.add_argument("--against", default="rounds", help="a SPEC of a policy that takes every")
    parser.add_argument("--seeds", default="201:211", help="FIRST:END, one stream each")
    parser.add_argument("--duration", type=float, help="s, in place of the scenario's")
    parser.add_argument("--warmup", type=float, default=WARMUP, help="s")
    parser.add_argument("--cooldown", type=float, default=COOLDOWN, help="s")
    given = parser.parse_args(arguments)
    try:
        scenario = load_scenario(given.scenario)
        if given.duration is not None and scenario.arrivals is not None:
            arrivals = msgspec.structs.replace(scenario.arrivals, duration=given.duration)
            scenario = msgspec.structs.replace(scenario, arrivals=arrivals)
        window, found = Window(given.warmup, given.cooldown), []
        for seed in seeds_of(given.seeds):
            one = compare(scenario, given.policy, given.against, seed, window)
            found.append(one)
            print(
                f"seed {seed}: mean {one.mean:+.2f}, worst tenth {one.p10:+.2f}, "
                f"p95 wait x {one.p95:.2f}, at a mean wait of {one.wait:.1f} s",
                flush=True,
            )
    except (MatchmakingError, OSError) as error:
        print(f"streams: {error}", file=sys.stderr)
        return 2
    print("\n".join([f"{given.policy} against {given.against}, 95 % intervals:", *lines(found)]))
    return 0


DOC = "Compare two policies on streams of arrivals, at the same mean wait."

if __name__ == "__main__":
    sys.exit(main())

"""The factors of a batch's quality: each one by itself, and which of them decide.

A weight says how much a factor may cost, not how much it matters: a factor that reacts to every
change (the party structure) overshadows one that hardly moves (skill), whatever their weights. So a
report shows, for each factor, its mean, its spread, how often it is zero, and its share of the
variance of quality, which shows where the differences between matches come from.

Source:
    Galactron (Awesomenauts), "Combining scores": "some of these scores react much more extremely
    than others"; "every rule you weigh heavier makes the others less important".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from evenmatch.criteria.base import Form, NumberGap
from evenmatch.criteria.registry import kind_with
from evenmatch.solvers.matching.pairs import RAW
from evenmatch.solvers.teams.batch import (
    COLUMN,
    HOSTS_LACK,
    KIND,
    MEAN_GAP,
    PAIR_GAP,
    PING_GAP,
    REGION_GAP,
    SHAPE,
    SPREAD,
    SUM_GAP,
    WEIGHT,
    Batch,
    Facts,
    Floats,
    Places,
)

Evaluate = Callable[[Batch, Places], Floats]
"""Maps a batch and matches to the cost of each match."""

TEAMS, PAIRS = [kind_with(Form.NUMBERS, gap) for gap in (NumberGap.TEAMS, NumberGap.PAIRS)]
WIDEST = kind_with(Form.NUMBERS, NumberGap.WIDEST)
KINDS = {SPREAD: WIDEST, SUM_GAP: TEAMS, MEAN_GAP: TEAMS, PAIR_GAP: PAIRS}
PINGS = [
    f"{kind_with(Form.PLACES)}{to}" for to in (" to enemies", " to teammates", "", " to region")
]
HOSTS = kind_with(Form.NETWORK)
ZERO = 1e-9
"""Qualities up to this value count as zero."""


class BatchFactor(NamedTuple):
    """One criterion of a batch.

    Args:
        name: Name for people.
        weight: Its share of the weights, in [0, 1].
        alone: The batch judged by this criterion only, with weight 1.
    """

    name: str
    weight: float
    alone: Batch

    @property
    def is_scaled(self) -> bool:
        """Return whether its cost is in [0, 1]: it has no scale `none`."""
        rows = np.concatenate([self.alone.terms, self.alone.facts.gaps])
        return not ((rows[:, KIND] <= PAIR_GAP) & (rows[:, SHAPE] == RAW)).any()


class FactorFigures(NamedTuple):
    """The figures of a factor in the matches of a plan; qualities are in points of 100.

    Args:
        name: Name for people.
        weight: Its share of the weights, in [0, 1].
        mean: Mean quality.
        spread: Standard deviation over matches.
        zeros: Share of matches in which it is 0.
        share: Its share of the variance of quality: cov(weight x factor, quality) / var(quality);
            shares sum to 1, and a negative one compensates others. None if all matches are alike.
    """

    name: str
    weight: float
    mean: float
    spread: float
    zeros: float
    share: float | None


def factors_of(
    batch: Batch, columns: Sequence[str], role_weight: float = 0.0
) -> tuple[BatchFactor, ...]:
    """Return the factors of a batch that have a weight, with unique names.

    Args:
        batch: With its weights.
        columns: The names of the rows of `facts.values`.
        role_weight: The weight included in `role_cost`, if roles have ranks.
    """
    seen: Counter[str] = Counter()
    found = []
    for factor in _all(batch, columns, role_weight):
        if factor.weight > 0.0:
            seen[factor.name] += 1
            again = seen[factor.name]
            name = factor.name if again == 1 else f"{factor.name} {again}"
            found.append(factor._replace(name=name))
    return tuple(found)


def _all(batch: Batch, columns: Sequence[str], role_weight: float) -> list[BatchFactor]:
    facts, bare = batch.facts, _without_costs(batch)
    found = []

    def add(name: str, weight: float, **changes: Any) -> None:
        own = {key: value for key, value in changes.items() if key in bare.facts._fields}
        rest = {key: value for key, value in changes.items() if key not in own}
        alone = bare._replace(facts=bare.facts._replace(**own), **rest)
        found.append(BatchFactor(name, float(weight), alone))

    for row in batch.terms:
        add(_name_of(row, columns), row[WEIGHT], terms=_only(row))
    for row in facts.gaps:
        add(f"{PAIRS} of {columns[int(row[COLUMN])]}", row[WEIGHT], gaps=_only(row))
    add(kind_with(Form.PARTIES), batch.parity, parity=1.0)
    for place, name in enumerate(PINGS):
        add(name, facts.ping_weights[place], ping_weights=np.eye(4)[place])
    add(kind_with(Form.NAMES), facts.met_weight, met_weight=1.0)
    worst = float(batch.hosts.max(initial=0.0))
    add(HOSTS, worst, hosts=batch.hosts / worst if worst else batch.hosts)
    for label, name, rows, weights in (
        (kind_with(Form.WORD), "words", facts.words, facts.words_weight),
        (kind_with(Form.SETS), "tongues", facts.tongues, facts.tongues_weight),
    ):
        for place in range(len(rows)):
            if np.isfinite(weights[place]):
                one = {name: rows[place : place + 1], f"{name}_weight": np.ones(1)}
                add(f"{label} {place + 1}" if len(rows) > 1 else label, weights[place], **one)
    add(kind_with(Form.SEATS), batch.fullness, fullness=1.0)
    if role_weight > 0.0:
        add(kind_with(Form.ROLES), role_weight, role_cost=batch.role_cost / np.float32(role_weight))
    return found


def _name_of(row: Floats, columns: Sequence[str]) -> str:
    """Return the name of a term for people."""
    kind, column = row[KIND], int(row[COLUMN])
    if kind == PING_GAP:
        return PINGS[column % 3]
    if kind in (REGION_GAP, HOSTS_LACK):
        return PINGS[3] if kind == REGION_GAP else HOSTS
    return f"{KINDS[kind]} of {columns[column]}"


def _without_costs(batch: Batch) -> Batch:
    facts = batch.facts
    free = facts._replace(
        gaps=facts.gaps[:0],
        ping_weights=np.zeros(4),
        met_weight=0.0,
        words=facts.words[:0],
        words_weight=facts.words_weight[:0],
        tongues=facts.tongues[:0],
        tongues_weight=facts.tongues_weight[:0],
    )
    return batch._replace(
        facts=free,
        terms=batch.terms[:0],
        parity=0.0,
        hosts=np.zeros(3),
        fullness=0.0,
        role_cost=np.where(np.isinf(batch.role_cost), batch.role_cost, np.float32(0.0)),
    )


def _hard(facts: Facts) -> Facts:
    """Return the facts with only those words and tongues that are rules."""
    words, tongues = np.isinf(facts.words_weight), np.isinf(facts.tongues_weight)
    return facts._replace(
        words=facts.words[words],
        words_weight=facts.words_weight[words],
        tongues=facts.tongues[tongues],
        tongues_weight=facts.tongues_weight[tongues],
    )


def _only(row: Floats) -> Floats:
    alone = row[None, :].copy()
    alone[0, WEIGHT] = 1.0
    return alone


def without(batch: Batch, factors: Sequence[BatchFactor], name: str) -> Batch:
    """Return the batch judged by all factors but one, their weights scaled up to 1.

    Rules stay, and so do the roles that a player accepts. Some other factor must have a weight.
    """
    kept = {factor.name: factor for factor in factors if factor.name != name}
    return reweighed(batch, kept, {each: factor.weight for each, factor in kept.items()})


def reweighed(
    batch: Batch, factors: Mapping[str, BatchFactor], weights: Mapping[str, float]
) -> Batch:
    """Return the batch judged by factors with other weights, scaled to sum to 1."""
    total = sum(weights.values())
    return _joined(
        batch, [(each / total, factors[name].alone) for name, each in weights.items() if each]
    )


def _joined(batch: Batch, parts: Sequence[tuple[float, Batch]]) -> Batch:
    """Return a batch judged by the costs of several, each with a weight."""
    terms, gaps = [], []
    hard = _hard(batch.facts)
    words, tongues = [(hard.words, hard.words_weight)], [(hard.tongues, hard.tongues_weight)]
    numbers = np.zeros(4 + 3 + 3)
    role_cost = _without_costs(batch).role_cost
    for weight, alone in parts:
        own = alone.facts
        role_cost = role_cost + np.float32(weight) * np.nan_to_num(alone.role_cost, posinf=0.0)
        terms.append(_weighed(alone.terms, weight))
        gaps.append(_weighed(own.gaps, weight))
        words.append((own.words, weight * own.words_weight))
        tongues.append((own.tongues, weight * own.tongues_weight))
        single = [own.met_weight, alone.parity, alone.fullness]
        numbers += weight * np.concatenate((own.ping_weights, alone.hosts, single))
    return _without_costs(batch)._replace(
        terms=np.concatenate(terms),
        hosts=numbers[4:7],
        parity=float(numbers[8]),
        fullness=float(numbers[9]),
        role_cost=np.ascontiguousarray(role_cost, dtype=np.float32),
        facts=batch.facts._replace(
            gaps=np.concatenate(gaps),
            ping_weights=numbers[:4],
            met_weight=float(numbers[7]),
            words=np.concatenate([rows for rows, _ in words]),
            words_weight=np.concatenate([weights for _, weights in words]),
            tongues=np.concatenate([rows for rows, _ in tongues]),
            tongues_weight=np.concatenate([weights for _, weights in tongues]),
        ),
    )


def _weighed(rows: Floats, weight: float) -> Floats:
    scaled = rows.copy()
    scaled[:, WEIGHT] *= weight
    return scaled


def figures_of(
    factors: Sequence[BatchFactor], seating: Places, evaluate: Evaluate
) -> tuple[FactorFigures, ...]:
    """Return the figures of each factor in the matches of a plan.

    Args:
        factors: Of the batch.
        seating: The matches, see `Plan.seating`.
        evaluate: Returns the cost of each match.
    """
    if not len(seating):
        return ()
    own = np.array([1.0 - evaluate(factor.alone, seating) for factor in factors])
    weights = np.array([factor.weight for factor in factors])
    quality = weights @ own
    variance = float(quality.var())
    figures = []
    for factor, values in zip(factors, own, strict=True):
        covariance = float(np.mean((values - values.mean()) * (quality - quality.mean())))
        figures.append(
            FactorFigures(
                factor.name,
                factor.weight,
                100.0 * float(values.mean()),
                100.0 * float(values.std()),
                float(np.mean(values <= ZERO)),
                factor.weight * covariance / variance if variance > 0.0 else None,
            )
        )
    return tuple(figures)

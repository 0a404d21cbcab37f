"""All kinds of criteria and rules by name.

A kind is one class in `kinds`, which declares the keys of files, its words and the form of its
columns; here it has one line. All code that needs the kind of a criterion or rule asks this module.
"""

from __future__ import annotations

from itertools import takewhile

from evenmatch.criteria import relation
from evenmatch.criteria.base import Comparison, Form, NumberGap
from evenmatch.criteria.kinds.anchor_sort import AnchorSort
from evenmatch.criteria.kinds.conditional import Conditional
from evenmatch.criteria.kinds.fullness import Fullness
from evenmatch.criteria.kinds.host_options import HostOptions
from evenmatch.criteria.kinds.household_limit import HouseholdLimit
from evenmatch.criteria.kinds.latency import Latency
from evenmatch.criteria.kinds.numeric import Imbalance, MeanGap, Numeric, Spread
from evenmatch.criteria.kinds.pair_limit import PairLimit
from evenmatch.criteria.kinds.party_parity import PartyParity
from evenmatch.criteria.kinds.rematch import Rematch
from evenmatch.criteria.kinds.role_rank import RoleRank
from evenmatch.criteria.kinds.words import Avoid, Overlap, Same
from evenmatch.errors import ConfigError
from evenmatch.model.queue import Criterion, Format, Pairs, Queue, Rule

KINDS: dict[str, type[Comparison]] = {
    "spread": Spread,
    "mean_gap": MeanGap,
    "imbalance": Imbalance,
    "rematch": Rematch,
    "latency": Latency,
    "party_parity": PartyParity,
    "host_options": HostOptions,
    "same": Same,
    "overlap": Overlap,
    "avoid": Avoid,
    "pair_limit": PairLimit,
    "household_limit": HouseholdLimit,
    "fullness": Fullness,
    "role_rank": RoleRank,
    "condition": Conditional,
    "anchor_sort": AnchorSort,
}
CRITERION_KINDS = tuple(kind for kind, each in KINDS.items() if each.criterion_keys is not None)
"""Kinds that criteria may have."""
_RULED = [kind for kind, each in KINDS.items() if each.rule_keys is not None]
_NUMBERS = takewhile(lambda kind: KINDS[kind].form is Form.NUMBERS, _RULED)
_WORDS = [kind for kind in _RULED if KINDS[kind].form is Form.WORD]
RULE_KINDS = tuple(dict.fromkeys([*_NUMBERS, *_WORDS, *_RULED]))
"""Kinds that rules may have; rules on one word come after those on numbers."""
EXPLAINED_KINDS = (*RULE_KINDS, *[kind for kind, each in KINDS.items() if each is Conditional])
"""Kinds of all rules that a queue may hold, including those of rule sets."""
NUMERIC = tuple(kind for kind, each in KINDS.items() if each.form is Form.NUMBERS)
"""Kinds that compare numbers; between two players all compare the same gap."""


def kind_of(definition: Criterion | Rule) -> type[Comparison]:
    """Return the kind of a criterion or a rule.

    Raises:
        ConfigError: There is no such kind.
    """
    try:
        return KINDS[definition.kind]
    except KeyError:
        raise ConfigError(
            f"kind must be one of {', '.join(KINDS)}, got {definition.kind!s:.40}"
        ) from None


def comparison_of(definition: Criterion | Rule, queue: Queue) -> Comparison:
    """Return a criterion or a rule of a queue, compiled to compare players."""
    return kind_of(definition)(definition, queue)


def numeric_kind(definition: Criterion | Rule) -> type[Numeric]:
    """Return the kind of a criterion or a rule that compares numbers."""
    kind = kind_of(definition)
    assert issubclass(kind, Numeric)
    return kind


def form_of(definition: Criterion | Rule) -> Form:
    """Return the form of the columns of a criterion or a rule."""
    return kind_of(definition).form


def number_gap_of(definition: Criterion | Rule) -> NumberGap | None:
    """Return the gap of numbers that a criterion or a rule compares; None if it compares none."""
    return kind_of(definition).number_gap


def kind_with(form: Form, gap: NumberGap | None = None) -> str:
    """Return the first kind of a form, the default if no kind is named."""
    return next(
        kind for kind, each in KINDS.items() if each.form is form and each.number_gap is gap
    )


def pairs_of(definition: Criterion | Rule) -> Pairs:
    """Return the pairs that a criterion or rule compares, with its kind's default."""
    return definition.pairs or kind_of(definition).pairs_default


def pairs_within(definition: Criterion | Rule, form: Format) -> Pairs:
    """Return the pairs that count in a format: `all` if all are enemies or all teammates."""
    return relation.pairs_within(pairs_of(definition), form)

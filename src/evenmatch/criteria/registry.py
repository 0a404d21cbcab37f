"""All kinds of criteria and rules by name.

A kind is one class in `kinds`, which says what files may hold of it, how it is put in words and of
what form its columns are; here it has its line. Whoever deals with criteria and rules asks here.
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
"""Kinds that rules may have; a rule on one word comes behind those on numbers."""
EXPLAINED_KINDS = (*RULE_KINDS, *[kind for kind, each in KINDS.items() if each is Conditional])
"""Kinds of all rules that a queue may hold, those of a rule set too."""
NUMERIC = tuple(kind for kind, each in KINDS.items() if each.form is Form.NUMBERS)
"""Kinds that compare numbers; between two players all are the gap."""


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
    """Return a criterion or a rule of a queue, ready to compare players."""
    return kind_of(definition)(definition, queue)


def numeric_kind(definition: Criterion | Rule) -> type[Numeric]:
    """Return the kind of a criterion or a rule that compares numbers."""
    kind = kind_of(definition)
    assert issubclass(kind, Numeric)
    return kind


def form_of(definition: Criterion | Rule) -> Form:
    """Return of what form the columns of a criterion or a rule are."""
    return kind_of(definition).form


def number_gap_of(definition: Criterion | Rule) -> NumberGap | None:
    """Return which gap of numbers a criterion or a rule compares; None if it compares others."""
    return kind_of(definition).number_gap


def kind_with(form: Form, gap: NumberGap | None = None) -> str:
    """Return the first kind of a form, which stands for it where no kind is named."""
    return next(
        kind for kind, each in KINDS.items() if each.form is form and each.number_gap is gap
    )


def pairs_of(definition: Criterion | Rule) -> Pairs:
    """Return which pairs a criterion or rule looks at, where it says nothing by its kind."""
    return definition.pairs or kind_of(definition).pairs_default


def pairs_within(definition: Criterion | Rule, form: Format) -> Pairs:
    """Return which pairs count in a format: where all are enemies or all teammates, `all`."""
    return relation.pairs_within(pairs_of(definition), form)

"""A FlexMatch rule set as values: attributes, teams, rules, expansions and the algorithm.

All defaults of the language are filled in, names of teams are those of a match, and expressions
and statements are trees. Numbers are as written; distances of latency rules are milliseconds.
"""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

from evenmatch.rules.flexmatch.expressions import AttributeType, Expression, Scope
from evenmatch.rules.flexmatch.statements import Statement, names_in

Merge = Literal["min", "max", "avg"]
SetMerge = Literal["union", "intersection"]
CollectionOperation = Literal["intersection", "contains", "reference_intersection_count"]
MapKey = Literal["minValue", "maxValue"]
Strategy = Literal["exhaustiveSearch", "balanced"]
Batching = Literal["random", "sorted", "largestPopulation", "fastestRegion"]
BackfillPriority = Literal["normal", "high", "low"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
BATCHINGS: tuple[Batching, ...] = get_args(Batching)
BACKFILL_PRIORITIES: tuple[BackfillPriority, ...] = get_args(BackfillPriority)
Comparator = Literal["<", "<=", "=", "!=", ">", ">="]
AttributeValue = float | str | tuple[str, ...] | dict[str, float]


class PlayerAttribute(msgspec.Struct, frozen=True, kw_only=True):
    """An attribute of players; without a default, players who lack it are never matched."""

    name: str
    type: AttributeType
    default: AttributeValue | None = None


class TeamDefinition(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One team, or `quantity` interchangeable teams."""

    name: str
    players_min: int
    players_max: int
    quantity: int = 1

    def names(self) -> tuple[str, ...]:
        """Return the names of the teams of a match: `name`, or `name_1` to `name_n`."""
        if self.quantity == 1:
            return (self.name,)
        return tuple(f"{self.name}_{number}" for number in range(1, self.quantity + 1))


class Algorithm(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """AWS's search; only `age` affects which matches are legal."""

    strategy: Strategy = "exhaustiveSearch"
    batching: Batching = "random"
    sort_by: tuple[str, ...] = ()
    balanced_attribute: str = ""
    age: Literal["newest", "oldest"] = "newest"
    backfill_priority: BackfillPriority = "normal"


class _FlexMatchRule(msgspec.Struct, frozen=True, gc=False, kw_only=True, tag_field="type"):
    name: str
    description: str = ""


class ComparisonRule(_FlexMatchRule, frozen=True, gc=False, kw_only=True, tag="comparison"):
    """Each measured value against a reference; without one, all equal or all different."""

    measurements: tuple[Expression, ...]
    operation: Comparator
    reference: Expression | None = None
    party: Merge = "avg"


class DistanceRule(_FlexMatchRule, frozen=True, gc=False, kw_only=True, tag="distance"):
    """How far each measured number is from a reference number."""

    measurements: tuple[Expression, ...]
    reference: Expression
    distance_min: float | None = None
    distance_max: float | None = None
    party: Merge = "avg"


class BatchDistanceRule(_FlexMatchRule, frozen=True, gc=False, kw_only=True, tag="batchDistance"):
    """The largest difference of a number between tickets, or one string for all players."""

    attribute: str
    distance_max: float | None = None
    party: Merge = "avg"


class CollectionRule(_FlexMatchRule, frozen=True, gc=False, kw_only=True, tag="collection"):
    """How many values collections have in common, or how many of them contain a value."""

    measurements: tuple[Expression, ...]
    operation: CollectionOperation
    reference: Expression | None = None
    count_min: float | None = None
    count_max: float | None = None
    party: SetMerge = "union"


class LatencyRule(_FlexMatchRule, frozen=True, gc=False, kw_only=True, tag="latency"):
    """One location must suit all players: most milliseconds, and largest difference."""

    latency_ms_max: float | None = None
    distance_ms_max: float | None = None
    distance_reference: Literal["min", "avg"] | None = None
    party: Merge = "avg"


class SortRule(_FlexMatchRule, frozen=True, gc=False, kw_only=True, tag="sort"):
    """The order in which candidates are tried; it forbids nothing."""

    kind: Literal["absolute", "distance"]
    attribute: str
    direction: Literal["ascending", "descending"]
    map_key: MapKey | None = None
    party: Merge = "avg"


class CompoundRule(_FlexMatchRule, frozen=True, gc=False, kw_only=True, tag="compound"):
    """A statement over rules that come before it."""

    statement: Statement


FlexRule = (
    ComparisonRule
    | DistanceRule
    | BatchDistanceRule
    | CollectionRule
    | LatencyRule
    | SortRule
    | CompoundRule
)

RuleField = Literal[
    "reference", "distance_min", "distance_max", "count_min", "count_max",
    "latency_ms_max", "distance_ms_max",
]  # fmt: skip
TeamField = Literal["players_min", "players_max"]
AlgorithmField = Literal["strategy", "batching", "balanced_attribute", "backfill_priority"]


class ExpansionStep(msgspec.Struct, frozen=True, gc=False):
    """A value from an age on: `wait` seconds, inclusive."""

    wait: float
    value: float | str | Expression


class RuleExpansion(msgspec.Struct, frozen=True, gc=False, kw_only=True, tag="rules"):
    """Steps of a number of rules, or of their reference (then each value is an expression)."""

    rules: tuple[str, ...]
    field: RuleField
    steps: tuple[ExpansionStep, ...]


class TeamExpansion(msgspec.Struct, frozen=True, gc=False, kw_only=True, tag="teams"):
    """Steps of the sizes of teams, by the names of their definitions."""

    teams: tuple[str, ...]
    field: TeamField
    steps: tuple[ExpansionStep, ...]


class AlgorithmExpansion(msgspec.Struct, frozen=True, gc=False, kw_only=True, tag="algorithm"):
    """Steps of AWS's search; none of them affects which matches are legal."""

    field: AlgorithmField
    steps: tuple[ExpansionStep, ...]


FlexExpansion = RuleExpansion | TeamExpansion | AlgorithmExpansion


class RuleSet(msgspec.Struct, frozen=True, kw_only=True):
    """A rule set without errors: all its names are known, all types fit.

    Args:
        name: "" if it has none.
        attributes: In the order of the text, like everything else.
        teams: At least one.
        rules: A compound rule comes after those that it names.
        expansions: If two have the same target, the later one that has begun decides.
        algorithm: With the defaults of its strategy.
    """

    name: str = ""
    attributes: tuple[PlayerAttribute, ...] = ()
    teams: tuple[TeamDefinition, ...]
    rules: tuple[FlexRule, ...] = ()
    expansions: tuple[FlexExpansion, ...] = ()
    algorithm: Algorithm = Algorithm()

    @property
    def scope(self) -> Scope:
        """The names that its expressions may use."""
        return Scope(
            attributes={each.name: each.type for each in self.attributes},
            teams={each.name: each.names() for each in self.teams},
        )

    def supporting(self) -> frozenset[str]:
        """Return the names of rules that compound rules name: these are not enforced themselves."""
        compounds = (each for each in self.rules if isinstance(each, CompoundRule))
        return frozenset(name for each in compounds for name in names_in(each.statement))

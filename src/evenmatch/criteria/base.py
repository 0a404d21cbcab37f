"""The interface of every kind of criterion and rule.

A kind is one class in one module: `criteria.registry` lists them. The **reference** judges one
match and defines the kind; the **table** judges many divisions of the same tickets at once, and a
property test compares the two. Code that uses kinds depends only on the interface in this module.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenmatch.criteria.expansion import inverse, last_change
from evenmatch.criteria.scales import Floats
from evenmatch.criteria.sentences import at_first
from evenmatch.criteria.team_packing import Orders
from evenmatch.model.queue import Criterion, Expansion, Format, Pairs, Queue, Rule
from evenmatch.model.ticket import NewTicket, Player, Ticket, Value

Seats = Sequence[Sequence[Ticket]]
"""A division: tickets by team."""
Flags = NDArray[np.bool_]
RolesByTeam = Sequence[Sequence[str]] | None
"""Each player's role by team, party by party; None if a queue has no roles."""


Fault = tuple[str, str] | None
"""A key, and what is wrong with it; None if nothing is."""


class Form(Enum):
    """The data that a kind compares; code that works on columns chooses them by it."""

    NUMBERS = "a number"
    WORD = "a word that all should share"
    SETS = "sets of words that should have one in common"
    NAMES = "other players by name"
    SHARED = "words of which a match may hold so many players"
    NETWORK = "whom a player can reach"
    PLACES = "milliseconds to places, and to players"
    PARTIES = "the sizes of parties"
    SEATS = "the seats that stay free"
    ROLES = "the roles that players like"
    ANCHOR = "what players are to who has waited longest"
    CONDITION = "whatever a condition over the teams states"
    OTHER = "anything else: each match has to be compared by itself"


class NumberGap(Enum):
    """The gap that a kind of the form NUMBERS compares; between two players all are equal."""

    WIDEST = "the largest difference of any two players"
    PAIRS = "the mean difference over all pairs"
    TEAMS = "the largest difference of two teams"


class Limit(NamedTuple):
    """The limit that rules of a kind have.

    Args:
        words: Name of the limit, as the end of a sentence.
        most: The largest sensible value.
        is_count: Whether it is a whole number from 1 on.
    """

    words: str
    most: float = 1.0
    is_count: bool = False


class Keys(NamedTuple):
    """The keys that a table of a file may have beside `kind`.

    Args:
        names: In the order in which a sentence lists them.
        told: How a sentence lists them, if not with commas.
    """

    names: tuple[str, ...]
    told: str = ""

    @property
    def text(self) -> str:
        """Return the keys as a sentence lists them."""
        return self.told or ", ".join(self.names)


class Gap(NamedTuple):
    """A figure of a match in the unit that a kind compares, before scale and weight.

    Args:
        words: Name of the figure.
        unit: Unit of the number: "" is that of the attribute, `%` marks a share in [0, 1].
        better: 1 if more is better, -1 if less is.
        is_of_attribute: Whether its name includes the attribute that is compared.
    """

    words: str
    unit: str = ""
    better: int = -1
    is_of_attribute: bool = True


class Comparison(ABC):
    """A criterion or a rule of one queue, compiled to compare the players of a match.

    Class attributes declare what holds for a kind in any queue: the keys that files may have, its
    words, and the form of its columns.

    Args:
        definition: The criterion or the rule.
        queue: Its queue.
    """

    # The keys of files, and requirements on queues.

    criterion_keys: ClassVar[Keys | None] = None
    """The keys of its criteria; None: the kind has no criteria."""
    rule_keys: ClassVar[Keys | None] = None
    """The keys of its rules; None: the kind has no rules."""
    own_keys: ClassVar[tuple[str, ...]] = ()
    """Keys that no other kind has."""
    attribute: ClassVar[str | None] = None
    """The attribute if a table names none; "" if the kind compares none, None if required."""
    limit: ClassVar[Limit | None] = None
    """The limit of its rules; None if a rule need not state it, and may have it from 0 to 1."""
    pairs_allowed: ClassVar[tuple[Pairs, ...]] = ()
    """The pairs that it may compare; empty if it compares no pairs."""
    pairs_default: ClassVar[Pairs] = "all"
    memory: ClassVar[str] = ""
    """What the engine remembers for it: last `matches`, or `meetings` within some time."""

    # Its form, for columns.

    form: ClassVar[Form] = Form.OTHER
    number_gap: ClassVar[NumberGap | None] = None
    """The gap, if it compares numbers."""
    is_kept: ClassVar[bool] = False
    """Whether a rule is kept or broken, without a limit that people could set."""
    is_measure: ClassVar[bool] = False
    """Whether gaps are numbers with a unit, for which people could set a limit."""
    is_list_of_players: ClassVar[bool] = False
    """Whether its attribute lists players that somebody has chosen."""
    gap_most: ClassVar[float | None] = None
    """The largest possible gap, if there is one."""

    plain_values: ClassVar[frozenset[type]] = frozenset()
    """Types of attributes that are valid whatever their value, so that `problem` is not called."""

    # Its words.

    compared: ClassVar[str] = "{}"
    """The compared quantity, with a place for the attribute."""
    unit: ClassVar[str] = ""
    """Unit of its limits."""

    pairs: Pairs = "all"
    """The pairs that count in the queue's format, for kinds that compare pairs."""
    furthest: float = math.inf
    """The largest latency to a joint region with which rules ever let a player play."""
    is_by_team = False
    """Whether the division into teams affects the result."""
    raw: tuple[Gap, ...] = ()
    """The figures that `raw_gaps` returns; a kind that is kept or broken has none."""

    def __init__(self, definition: Criterion | Rule, queue: Queue) -> None:
        self.definition = definition
        self.queue = queue

    @staticmethod
    def problem(value: Value | None) -> str | None:
        """Return what is wrong with a player's attribute, as the end of a sentence, or None."""
        del value
        return None

    def cost(self, teams: Seats) -> float:
        """Return q_d of one division: the definition of the criterion.

        Args:
            teams: Tickets by team, without bots; where the format allows it, a team may have free
                seats, or nobody at all.

        Returns:
            A cost in [0, 1], 0 = best; any number >= 0 if the scale is `none`.
        """
        return self.gap(teams)

    def cost_at(self, teams: Seats, at: float) -> float:
        """Return q_d of a match that is made at an instant, from which on rules allow it.

        Never less than `cost`, which is the cost after a long wait. They differ only if rules come
        to allow a better region.
        """
        del at
        return self.cost(teams)

    def cost_in(self, teams: Seats, region: str | None) -> float:
        """Return q_d of a match played in a region; None: the best that rules ever allow."""
        del region
        return self.cost(teams)

    def cost_table(
        self, tickets: Sequence[Ticket], orders: Orders, layout: Sequence[int]
    ) -> Floats:
        """Return `cost` of many divisions of the same tickets.

        Args:
            tickets: In the order in which `orders` numbers their players.
            orders: Shape (divisions, k): players in the order of the teams.
            layout: Players per team.

        Returns:
            Shape (divisions,).
        """
        del layout
        return np.full(len(orders), self.cost((tickets,)))

    def cost_of_duel(self, one: Ticket, two: Ticket, at: float = math.inf) -> float:
        """Return `cost_at` of one solo ticket against another; some kinds compute it faster."""
        return self.cost_at(((one,), (two,)), at)

    @abstractmethod
    def gap(self, teams: Seats) -> float:
        """Return the gap of one division that a rule of the kind limits.

        Args:
            teams: Tickets by team; a team may have free seats (bots), or nobody at all.
        """

    def gap_table(self, tickets: Sequence[Ticket], orders: Orders, layout: Sequence[int]) -> Floats:
        """Return `gap` of many divisions; never above it, and below it by rounding only."""
        del layout
        return np.full(len(orders), self.gap((tickets,)))

    def raw_gaps(self, teams: Seats, roles: RolesByTeam = None) -> tuple[float, ...]:
        """Return the numbers of `raw` for one division, before any scale.

        Args:
            teams: Tickets by team, without bots.
            roles: The roles that the players were given.

        Returns:
            A number for each of `raw`; inf or NaN if it is unknown.
        """
        del teams, roles
        return ()

    def raw_gaps_in(
        self, teams: Seats, roles: RolesByTeam, region: str | None
    ) -> tuple[float, ...]:
        """Return `raw_gaps` of a match played in a region; None: the best that rules allow."""
        del region
        return self.raw_gaps(teams, roles)

    def pair_gap(self, one: Ticket, two: Ticket) -> float:
        """Return a lower bound on the gap of matches with both tickets; 0 if none is known.

        In a duel it is the gap itself.
        """
        return self.gap(((one,), (two,))) if self.queue.format.is_duel else 0.0

    def gap_max(self, tickets: Sequence[Ticket]) -> float:
        """Return an upper bound on the gap of matches of these tickets that rules can allow."""
        del tickets
        return 1.0

    def hopeless(self, ticket: Ticket | NewTicket, when: Callable[[float], float]) -> str | None:
        """Return why a rule allows no match with this party, whoever else plays, or None.

        Args:
            ticket: The party.
            when: Function from a gap to the wait that it needs.
        """
        del ticket, when
        return None

    # The names that players list, for kinds whose form is NAMES.

    def names(self, ticket: Ticket, player: Player) -> Collection[str] | None:
        """Return the players that a player names: ids, or a map from ids to numbers.

        None if nothing is known. It is called for kinds whose form is NAMES.
        """
        raise NotImplementedError

    def named_gaps(self, said: Floats, known: Flags) -> Floats:
        """Return the gaps of pairs of players of two parties, at least one naming the other.

        Args:
            said: Shape (2, pairs): the number that each lists with the other, 1 in a plain list;
                inf if they do not name them.
            known: Shape (2, pairs): whether there are data on each.

        Returns:
            Shape (pairs,).
        """
        raise NotImplementedError

    def named_costs(self, said: Floats, known: Flags) -> tuple[Floats, Flags]:
        """Return the costs of pairs for a criterion of form NAMES, and which were teammates.

        The costs are for pairs in the same relation as before; a changed relation costs half.

        Args:
            said: As for `named_gaps`.
            known: As for `named_gaps`.

        Returns:
            Two of shape (pairs,).
        """
        raise NotImplementedError

    # The contents of files, beyond their keys.

    @classmethod
    def fault_in(cls, form: Format) -> Fault:
        """Return why the kind has nothing to compare in matches of a format."""
        del form
        return None

    @classmethod
    def is_told_of(cls, form: Format) -> bool:
        """Return whether all matches of a format report its gaps, even without a criterion."""
        del form
        return False

    @classmethod
    def fault_of_criterion_table(cls, table: Mapping[str, Any]) -> Fault:
        """Return what is wrong with a table of a file beyond faults of single keys.

        Args:
            table: The keys that are given, without any that the kind does not take.
        """
        del table
        return None

    @classmethod
    def fault_of_rule_table(cls, table: Mapping[str, Any], wait_end: float | None) -> Fault:
        """Return the same for a rule.

        Args:
            table: The keys that are given, without any that the kind does not take.
            wait_end: The wait at which every ticket has left the queue, seconds; None = never.
        """
        del table, wait_end
        return None

    @classmethod
    def expansion_of(cls, table: Mapping[str, Any], wait_end: float | None) -> Expansion | None:
        """Return how a rule widens by keys of its own, if its table has no fault."""
        del table, wait_end
        return None

    # Its meaning in words.

    @classmethod
    def criterion_words(cls, criterion: Criterion) -> str:
        """Return the quantity that a criterion compares: smaller is better."""
        return cls.compared.format(criterion.attribute)

    @classmethod
    def sentence(cls, rule: Rule) -> str:
        """Return what a rule demands, how it widens, and who must accept."""
        return at_first(rule, cls.compared.format(rule.attribute))

    @classmethod
    def limit_name(cls, attribute: str, kind: str) -> str:
        """Return the name of a rule of the kind when it keeps a ticket waiting."""
        del attribute
        return f"rule {kind}"

    @classmethod
    def warning_without_deadline(cls, rule: Rule) -> str:
        """Return a warning that some may wait for ever, for a rule that stops widening."""
        how = "does not widen" if rule.expand is None else "stops widening"
        return (
            f"no deadline, and the limit on {rule.attribute or rule.kind} {how}: some may wait for "
            "ever; set wait_max, or let the limit widen without max"
        )

    @classmethod
    def widens_for_ever(cls, rule: Rule) -> bool:
        """Return whether a rule of the kind allows every match sooner or later."""
        if cls.gap_most is not None:
            return inverse(rule.limit, rule.expand)(cls.gap_most) < math.inf
        return last_change(rule.expand, rule.limit) == math.inf

"""What every kind of criterion and rule answers about a match.

A kind is one class in one module: `criteria.registry` has the list. The **reference** looks at one
match and defines the kind; the **table** looks at many divisions of the same tickets at once, and a
property test holds the two together. Whoever deals with kinds asks nothing but what stands here.
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
"""Each player's role by team, party by party; None where a queue has no roles."""


Fault = tuple[str, str] | None
"""A key, and what is wrong with it; None if all is well."""


class Form(Enum):
    """What a kind compares of players: its consumers choose their columns by it."""

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
    """Which gap of some numbers a kind of the form NUMBERS compares; between two all are equal."""

    WIDEST = "the largest difference of any two players"
    PAIRS = "the mean difference over all pairs"
    TEAMS = "the largest difference of two teams"


class Limit(NamedTuple):
    """The limit that rules of a kind have.

    Args:
        words: What it is, as the end of a sentence.
        most: The largest that makes sense.
        is_count: Whether it is a whole number from 1 on.
    """

    words: str
    most: float = 1.0
    is_count: bool = False


class Keys(NamedTuple):
    """The keys that a table of a file takes beside `kind`.

    Args:
        names: In the order in which a sentence lists them.
        told: How a sentence lists them if not with commas.
    """

    names: tuple[str, ...]
    told: str = ""

    @property
    def text(self) -> str:
        """Return how a sentence lists them."""
        return self.told or ", ".join(self.names)


class Gap(NamedTuple):
    """What a kind says of a match in the unit of what it compares, and not as a cost.

    Args:
        words: What people call it.
        unit: Of the number: "" is that of the attribute, `%` says that it is a share in [0, 1].
        better: 1 if more of it is better, -1 if less is.
        is_of_attribute: Whether its name says which attribute is compared.
    """

    words: str
    unit: str = ""
    better: int = -1
    is_of_attribute: bool = True


class Comparison(ABC):
    """A criterion or a rule of one queue, ready to compare the players of a match.

    What holds of a kind in any queue is declared on its class: what files may say of it, how it is
    put in words, and of what form its columns are.

    Args:
        definition: The criterion or the rule; a kind that is only one of the two is asked as such.
        queue: Its queue.
    """

    # What a file may say of the kind, and what a queue must be like.

    criterion_keys: ClassVar[Keys | None] = None
    """What its criteria take; None: there are none of the kind."""
    rule_keys: ClassVar[Keys | None] = None
    """What its rules take; None: there are none of the kind."""
    own_keys: ClassVar[tuple[str, ...]] = ()
    """Keys that mean nothing with any other kind."""
    attribute: ClassVar[str | None] = None
    """The attribute of tables that name none; "" if it compares none, None if it must be named."""
    limit: ClassVar[Limit | None] = None
    """What limits its rules; None where a rule need not say it, and has it from 0 to 1."""
    pairs_allowed: ClassVar[tuple[Pairs, ...]] = ()
    """Between whom it may compare; empty if it looks at no pairs."""
    pairs_default: ClassVar[Pairs] = "all"
    memory: ClassVar[str] = ""
    """What the engine remembers for it: last `matches`, or `meetings` within some time."""

    # Its form, for columns.

    form: ClassVar[Form] = Form.OTHER
    number_gap: ClassVar[NumberGap | None] = None
    """The gap, if it compares numbers."""
    is_kept: ClassVar[bool] = False
    """Whether a rule is kept or broken, and has no limit that people would set."""
    is_measure: ClassVar[bool] = False
    """Whether gaps are numbers with a unit, which people would set a limit to."""
    is_list_of_players: ClassVar[bool] = False
    """Whether its attribute lists players that somebody has chosen."""
    gap_most: ClassVar[float | None] = None
    """The largest gap that there is, if there is one."""

    plain_values: ClassVar[frozenset[type]] = frozenset()
    """Types of attributes that are right whatever their value: `problem` need not look at them."""

    # Its words.

    compared: ClassVar[str] = "{}"
    """What it compares in a match, with a place for the attribute."""
    unit: ClassVar[str] = ""
    """Of its limits."""

    pairs: Pairs = "all"
    """Which pairs count in the queue's format, of kinds that look at pairs."""
    furthest: float = math.inf
    """The largest latency with which rules ever let anybody play in a joint region."""
    is_by_team = False
    """Whether the division into teams changes what comes out."""
    raw: tuple[Gap, ...] = ()
    """What `raw_gaps` has numbers of; a kind that is kept or broken has none."""

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

        Never less than `cost`, which is what it costs long after. They differ only where waiting
        opens something better: a region.
        """
        del at
        return self.cost(teams)

    def cost_in(self, teams: Seats, region: str | None) -> float:
        """Return q_d of a match that is played in a region; None: the best that ever opens."""
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
        """Return `cost_at` of one solo ticket against another; some kinds know a shorter way."""
        return self.cost_at(((one,), (two,)), at)

    @abstractmethod
    def gap(self, teams: Seats) -> float:
        """Return what a rule of the kind limits, in one division.

        Args:
            teams: Tickets by team; a team may have free seats (bots), or nobody at all.
        """

    def gap_table(self, tickets: Sequence[Ticket], orders: Orders, layout: Sequence[int]) -> Floats:
        """Return `gap` of many divisions; never above it, and below it by rounding only."""
        del layout
        return np.full(len(orders), self.gap((tickets,)))

    def raw_gaps(self, teams: Seats, roles: RolesByTeam = None) -> tuple[float, ...]:
        """Return the numbers of `raw` for one division, as they are before any scale.

        Args:
            teams: Tickets by team, without bots.
            roles: What the players were given to play.

        Returns:
            A number for each of `raw`; inf or NaN where it is not known.
        """
        del teams, roles
        return ()

    def raw_gaps_in(
        self, teams: Seats, roles: RolesByTeam, region: str | None
    ) -> tuple[float, ...]:
        """Return `raw_gaps` of a match that is played in a region; None: the best that opens."""
        del region
        return self.raw_gaps(teams, roles)

    def pair_gap(self, one: Ticket, two: Ticket) -> float:
        """Return a gap that no match with both tickets is below; 0 where nothing is known.

        In a duel it is the gap itself.
        """
        return self.gap(((one,), (two,))) if self.queue.format.is_duel else 0.0

    def gap_max(self, tickets: Sequence[Ticket]) -> float:
        """Return a gap that no match of these tickets exceeds, unless nothing allows it."""
        del tickets
        return 1.0

    def hopeless(self, ticket: Ticket | NewTicket, when: Callable[[float], float]) -> str | None:
        """Return why a rule allows no match with this party, whoever else plays, or None.

        Args:
            ticket: The party.
            when: From a gap to the wait that it needs.
        """
        del ticket, when
        return None

    # What names say, of kinds whose form is NAMES.

    def names(self, ticket: Ticket, player: Player) -> Collection[str] | None:
        """Return whom a player names: ids, or a map from ids to numbers; None if nothing is known.

        It is asked of kinds whose form is NAMES.
        """
        raise NotImplementedError

    def named_gaps(self, said: Floats, known: Flags) -> Floats:
        """Return the gaps of pairs of players of two parties of whom one at least names the other.

        Args:
            said: Shape (2, pairs): the number that each gives with the other, 1 in a plain list;
                inf if they do not name them.
            known: Shape (2, pairs): whether anything is known of each.

        Returns:
            Shape (pairs,).
        """
        raise NotImplementedError

    def named_costs(self, said: Floats, known: Flags) -> tuple[Floats, Flags]:
        """Return what pairs cost a criterion whose form is NAMES, and which were in one team then.

        Where the two stand to each other as they did; one that has changed costs half.

        Args:
            said: As for `named_gaps`.
            known: As for `named_gaps`.

        Returns:
            Two of shape (pairs,).
        """
        raise NotImplementedError

    # What a file may say, beyond its keys.

    @classmethod
    def fault_in(cls, form: Format) -> Fault:
        """Return why the kind has nothing to compare in matches of a format."""
        del form
        return None

    @classmethod
    def is_told_of(cls, form: Format) -> bool:
        """Return whether all matches of a format are told of it, also without a criterion."""
        del form
        return False

    @classmethod
    def fault_of_criterion_table(cls, table: Mapping[str, Any]) -> Fault:
        """Return what is wrong with a table of a file beyond what each key by itself shows.

        Args:
            table: The keys that are given, without any that the kind does not take.
        """
        del table
        return None

    @classmethod
    def fault_of_rule_table(cls, table: Mapping[str, Any], wait_end: float | None) -> Fault:
        """Return the same of a rule.

        Args:
            table: The keys that are given, without any that the kind does not take.
            wait_end: The wait at which every ticket has left the queue, seconds; None = never.
        """
        del table, wait_end
        return None

    @classmethod
    def expansion_of(cls, table: Mapping[str, Any], wait_end: float | None) -> Expansion | None:
        """Return how a rule widens by keys of its own, where its table has no fault."""
        del table, wait_end
        return None

    # What it means, in words.

    @classmethod
    def criterion_words(cls, criterion: Criterion) -> str:
        """Return what a criterion compares: a match is better the smaller that is."""
        return cls.compared.format(criterion.attribute)

    @classmethod
    def sentence(cls, rule: Rule) -> str:
        """Return what a rule demands, how it widens, and who must accept."""
        return at_first(rule, cls.compared.format(rule.attribute))

    @classmethod
    def limit_name(cls, attribute: str, kind: str) -> str:
        """Return what a rule of the kind is called where it keeps somebody waiting."""
        del attribute
        return f"rule {kind}"

    @classmethod
    def warning_without_deadline(cls, rule: Rule) -> str:
        """Return that some may wait for ever, of a rule that does not widen for ever."""
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

"""Hard rules as they stand at one instant: limits of gaps, and pairs that may not meet.

Each rule becomes a row of `Batch.rules` with what every player accepts now. A rule on pairs that
never widens needs none: flags of the pairs say all. Where it widens flags say what the two would
refuse, so that a search does not try it, and the row says what the others of the match do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from evenmatch.criteria.base import Form
from evenmatch.criteria.expansion import TICKS, limit_at
from evenmatch.criteria.registry import pairs_within
from evenmatch.criteria.rules import RuleLimit, Rules
from evenmatch.criteria.values import elements
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket, attribute_of
from evenmatch.policies.shared.batch_pairs import CODES, gap_code
from evenmatch.policies.shared.batch_people import (
    ROWS_FIRST,
    BatchPlayers,
    Objects,
    named_by,
    objects,
)
from evenmatch.solvers.teams.batch import (
    ALL,
    APART,
    ENEMIES,
    FREE_SEATS,
    HOME_GAP,
    HOSTS_LACK,
    LISTED_GAP,
    MATES,
    NOT_ENEMIES,
    NOT_MATES,
    PARTY_GAP,
    PING_GAP,
    RANK_GAP,
    REGION_GAP,
    TONGUES_GAP,
    WORDS_GAP,
    Batch,
    Facts,
    Floats,
    Ints,
)

COMPARED_MAX = 200
"""Tickets whose pairs are compared by themselves where a rule has no columns."""
FLAGS = {ALL: APART, ENEMIES: NOT_ENEMIES, MATES: NOT_MATES}
GAPS = {
    Form.SEATS: FREE_SEATS,
    Form.PARTIES: PARTY_GAP,
    Form.ROLES: RANK_GAP,
    Form.NETWORK: HOSTS_LACK,
    Form.WORD: WORDS_GAP,
    Form.SETS: TONGUES_GAP,
}
"""Rows of rules whose form says what they compare."""


class RuleFacts:
    """The rules of a queue, those of its policy included.

    Args:
        queue: With all its rules.
        columns: Where rules find what they compare, see `PairFacts.columns`.
    """

    def __init__(self, queue: Queue, columns: Mapping[int, int]) -> None:
        self._form = queue.format
        known = list(enumerate(Rules(queue).widening_limits))
        self._numeric = [each for _, each in known if each.comparison.form is Form.NUMBERS]
        self._lists = [each for _, each in known if each.comparison.form is Form.NAMES]
        self._others = [each for _, each in known if each.comparison.form is Form.OTHER]
        homes = [each for _, each in known if each.comparison.form is Form.SHARED]
        self._shared = [each for each in homes if each.rule.limit < 2.0 and not _widens(each)]
        self._homes = [each for each in homes if each not in self._shared]
        # Each row: the rule, its kind, and where what it compares is found; None = see `table`.
        self._rows: list[tuple[RuleLimit, float, int | None]] = []
        # Pings that the quick table of pairs knows.
        self._pings: list[tuple[RuleLimit, int]] = []
        for number, each in known:
            form, column = each.comparison.form, columns.get(number, 0)
            if form is Form.NUMBERS:
                self._rows.append((each, gap_code(each.rule), None))
            elif form is Form.PLACES:
                self._plan_latency(each, column)
            elif form is Form.NAMES:
                if _widens(each):
                    self._rows.append((each, LISTED_GAP, self._lists.index(each)))
            elif form is Form.SHARED:
                if each in self._homes:
                    pairs = CODES[pairs_within(each.rule, self._form)]
                    self._rows.append((each, HOME_GAP, 3 * self._homes.index(each) + pairs))
            elif form in GAPS and (form not in (Form.WORD, Form.SETS) or _widens(each)):
                self._rows.append((each, GAPS[form], column))
        self._columns: Floats = np.zeros((len(self._numeric), ROWS_FIRST))
        self._named = [objects(ROWS_FIRST) for _ in self._lists]

    def grow(self, size: int) -> None:
        """Make room for so many rows."""
        more = np.zeros((len(self._numeric), size - self._columns.shape[1]))
        self._columns = np.hstack([self._columns, more])
        self._named = [objects(size, each) for each in self._named]

    def write(self, ticket: Ticket, rows: Sequence[int]) -> None:
        """Write the numbers that rules compare of a party into its rows."""
        for column, each in enumerate(self._numeric):
            self._columns[column, rows] = each.values(ticket)
        for names, each in zip(self._named, self._lists, strict=True):
            for row, player in zip(rows, ticket.players, strict=True):
                names[row] = each.comparison.names(ticket, player)

    def values(self, rows: Ints) -> Floats:
        """Return the columns of some rows."""
        return self._columns[:, rows]

    def named(self, rows: Ints) -> list[Objects]:
        """Return whom the players of some rows name, by rule."""
        return [each[rows] for each in self._named]

    def ruled(
        self,
        batch: Batch,
        people: BatchPlayers,
        now: float,
        *,
        first: int,
        named: Sequence[Objects],
    ) -> Batch:
        """Return a batch with the rules as they stand now; this reads nothing that changes.

        Args:
            batch: With all else that is known of the players.
            people: The players.
            now: The instant.
            first: The first rule that compares numbers does so in this column of values.
            named: Whom the players name, by rule.

        Complexity:
            O(rules * tickets), and what players list.
        """
        tickets = people.tickets
        sizes = [len(ticket.players) for ticket in tickets]
        tolerances = np.zeros((len(self._rows), sum(sizes)))
        for row, (each, _, _) in enumerate(self._rows):
            tolerances[row] = np.repeat(_accepted_by(each, tickets, now), sizes)
        facts = self._minding(batch.facts, tolerances)
        lists, avoid = self._lists_of(people, named, now)
        facts = facts._replace(
            avoid=avoid,
            listed=lists,
            ping_max=self._ping_max(tickets, sizes, now),
            region_max=self._region_max(batch.facts, tolerances),
            homes=self._homes_of(tickets),
        )
        return batch._replace(facts=facts, rules=self._table(first), tolerances=tolerances)

    def _plan_latency(self, each: RuleLimit, column: int) -> None:
        if each.rule.pairs == "region":
            self._rows.append((each, REGION_GAP, column))
            return
        if column < 3 and (each.rule.accept == "both" or not _widens(each)):
            self._pings.append((each, column))
        if column >= 3 or _widens(each):
            self._rows.append((each, PING_GAP, column))

    def _table(self, first: int) -> Floats:
        found, numeric = [], first
        for each, kind, column in self._rows:
            at = numeric if column is None else column
            numeric += 1 if column is None else 0
            found.append((kind, float(at), float(each.rule.accept == "either")))
        return np.array(found, dtype=np.float64).reshape(len(found), 3)

    def _minding(self, facts: Facts, tolerances: Floats) -> Facts:
        """Return the facts with who minds another word now."""
        words = np.zeros((len(facts.words), tolerances.shape[1]), dtype=np.uint8)
        tongues = np.zeros((len(facts.tongues), tolerances.shape[1]), dtype=np.uint8)
        for row, (each, kind, column) in enumerate(self._rows):
            if kind in (WORDS_GAP, TONGUES_GAP) and each.rule.accept == "both":
                (words if kind == WORDS_GAP else tongues)[column] |= tolerances[row] < 1.0
        return facts._replace(words_mind=words, tongues_mind=tongues)

    def _ping_max(self, tickets: Sequence[Ticket], sizes: Sequence[int], now: float) -> Floats:
        """Return the largest ping that each player accepts now, to enemies and to mates."""
        found = np.full((2, sum(sizes)), np.inf)
        for each, pairs in self._pings:
            own = np.repeat(_accepted_by(each, tickets, now), sizes)
            if pairs != MATES:
                np.minimum(found[0], own, out=found[0])
            if pairs != ENEMIES:
                np.minimum(found[1], own, out=found[1])
        return found

    def _region_max(self, facts: Facts, tolerances: Floats) -> Floats:
        """Return the largest latency to a region that each accepts now, by the first attribute."""
        found = facts.region_max
        for row, (each, kind, column) in enumerate(self._rows):
            if kind == REGION_GAP and facts.venues[column, 0] == 0.0 and each.rule.accept == "both":
                found = np.minimum(found, tolerances[row])
        return found

    def _lists_of(
        self, people: BatchPlayers, named: Sequence[Objects], now: float
    ) -> tuple[Floats, Ints]:
        """Return `Facts.listed` of the rules that widen, and the pairs that are forbidden now."""
        listed: list[Floats] = [np.zeros((0, 5))]
        flags: list[Ints] = [np.zeros((0, 3), dtype=np.int64)]
        born = np.array([ticket.enqueued_at for ticket in people.tickets])
        for number, (each, known) in enumerate(zip(self._lists, named, strict=True)):
            pairs = CODES[pairs_within(each.rule, self._form)]
            one, two, gap = _gaps(each, known, people)
            if _widens(each):
                same = np.ones(len(gap))
                listed.append(np.stack((one, two, number * same, gap, pairs * same), axis=1))
                if each.rule.accept == "either":
                    continue
            # They wait until both accept the gap, or until one may for both.
            chosen = np.maximum if each.rule.accept == "both" else np.minimum
            waits = {value: each.when(value) for value in np.unique(gap).tolist()}
            wait = np.array([waits[value] for value in gap.tolist()], dtype=np.float64)
            late = now < chosen(born[people.party[one]], born[people.party[two]]) + wait
            one, two = one[late], two[late]
            flags.append(np.stack((one, two, np.full(len(one), FLAGS[pairs])), axis=1))
        for each in self._shared:
            home = self._at_home(each, people)
            flags.append(np.array(home, dtype=np.int64).reshape(len(home), 3))
        for each in self._others:
            apart = _apart(each, people, now)
            flags.append(np.array(apart, dtype=np.int64).reshape(len(apart), 3))
        return np.concatenate(listed), np.concatenate(flags)

    def _at_home(self, each: RuleLimit, people: BatchPlayers) -> list[tuple[int, int, int]]:
        """Return the pairs of players of one household, of which a match takes one."""
        found: dict[tuple[int, int], None] = {}
        homes: dict[str, list[int]] = {}
        seats = ((ticket, player) for ticket in people.tickets for player in ticket.players)
        for at, (ticket, player) in enumerate(seats):
            for key in elements(attribute_of(ticket, player, each.rule.attribute)):
                same = homes.setdefault(key, [])
                found.update(dict.fromkeys((other, at) for other in same if other != at))
                same.append(at)
        relation = FLAGS[CODES[pairs_within(each.rule, self._form)]]
        return [(one, two, relation) for one, two in found]

    def _homes_of(self, tickets: Sequence[Ticket]) -> Ints:
        """Return `Facts.homes` for the rules that count a household's players."""
        people = [(t, p) for t in tickets for p in t.players]
        codes: dict[tuple[int, str], int] = {}
        keys = [
            [
                [
                    codes.setdefault((row, key), len(codes))
                    for key in elements(attribute_of(t, p, each.rule.attribute))
                ]
                for t, p in people
            ]
            for row, each in enumerate(self._homes)
        ]
        most = max((len(own) for row in keys for own in row), default=0)
        found: Ints = np.full((len(keys), len(people), most), -1, dtype=np.int64)
        for row, of_row in enumerate(keys):
            for at, own in enumerate(of_row):
                found[row, at, : len(own)] = own
        return found


def _widens(each: RuleLimit) -> bool:
    return each.rule.expand is not None


def _gaps(each: RuleLimit, known: Objects, people: BatchPlayers) -> tuple[Ints, Ints, Floats]:
    """Return the pairs of whom one names the other, with their gaps where those are positive."""
    pairs = named_by(known, people)
    gap = each.comparison.named_gaps(pairs.said, pairs.known)
    counts = gap > 0.0
    return pairs.one[counts], pairs.two[counts], gap[counts]


def _apart(each: RuleLimit, people: BatchPlayers, now: float) -> list[tuple[int, int, int]]:
    """Return whom a rule without columns keeps apart now, by the reference pair by pair.

    Of more than `COMPARED_MAX` tickets a search knows nothing of such a rule: whoever takes a match
    from a plan asks it.

    Complexity:
        O(tickets^2), at most `COMPARED_MAX` squared over two.
    """
    tickets = people.tickets
    if len(tickets) > COMPARED_MAX:
        return []
    first = np.searchsorted(people.party, np.arange(len(tickets))).tolist()
    found = []
    for (one, mine), (two, theirs) in combinations(enumerate(tickets), 2):
        gap = each.comparison.pair_gap(mine, theirs)
        wait = each.when(gap) if gap > 0.0 else 0.0
        late = now < max(mine.enqueued_at, theirs.enqueued_at) + wait
        # Where one accepts for all, that may be somebody else of the match.
        if late and (each.rule.accept == "both" or wait == np.inf):
            found.append((first[one], first[two], int(APART)))
    return found


def _accepted_by(each: RuleLimit, tickets: Sequence[Ticket], now: float) -> list[float]:
    """Return the largest gap that each ticket accepts now."""
    if each.rule.expand is None and each.rule.unit != "relative":
        return [each.rule.limit] * len(tickets)
    return [_accepted(each, ticket, now) for ticket in tickets]


def _accepted(each: RuleLimit, ticket: Ticket, now: float) -> float:
    """Return the largest gap that a ticket accepts now, or one a rounding below it."""
    rule = each.rule
    wait = now - ticket.enqueued_at
    gap = limit_at(rule.limit, rule.expand, wait)
    if each.when(gap) > wait:
        # The wait that a gap needs is rounded up to the time grid.
        gap = limit_at(rule.limit, rule.expand, max(0.0, wait - 2.0 / TICKS))
    if each.when(gap) > wait:
        gap = rule.limit
    if rule.unit == "relative":
        own = each.values(ticket)
        gap *= abs(sum(own)) / len(own)
    return gap

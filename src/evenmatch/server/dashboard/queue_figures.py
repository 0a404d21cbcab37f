"""The figures of one queue: counts of this tick, what waits, the last matches, the last hour."""

from __future__ import annotations

import math
from array import array
from collections import deque

import msgspec

from evenmatch.criteria.divisions import Teams
from evenmatch.criteria.gaps import Gaps
from evenmatch.criteria.objective import Objective
from evenmatch.engine.state.rosters import remove_last
from evenmatch.model.match import Match
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket
from evenmatch.server.dashboard.waiting_summary import WaitingCounts

WINDOW = 60
"""Ticks whose matched players give the percentiles of waits."""
WAITS_MOST = 2_000
"""Players of the window at the most, the last ones."""
QUALITIES_MOST = 1_000
"""Matches of the histogram, the last ones."""
QUALITY_BARS = 20
RECENT = 12
MEASURED = 50
"""Matches whose gaps are averaged, the last ones."""
PERCENTILES = (50, 90, 99)


class RecordedMatch(msgspec.Struct, frozen=True, gc=False):
    """A match, the tickets that made it, and the record that holds it.

    Args:
        tickets: Of the match, as far as they are known, in the order of `match.tickets`.
    """

    match: Match
    tickets: tuple[Ticket | None, ...]
    record: int
    queue: Queue

    def teams(self) -> Teams | None:
        """Return its tickets by team; None where one is not known any more."""
        if any(ticket is None for ticket in self.tickets):
            return None
        known = {ticket.id: ticket for ticket in self.tickets if ticket is not None}
        return tuple(tuple(known[name] for name in team) for team in self.match.teams)


class MatchFigures(msgspec.Struct, frozen=True, gc=False):
    """What a match added to the figures of its queue.

    Args:
        tick: In which it was made.
        waits: Of its players, where they are known.
        bar: Of the histogram; None without a quality.
    """

    match: str
    tick: int
    waits: tuple[float, ...]
    bar: int | None


class QueueFigures:
    """What is shown of a queue.

    Args:
        queue: As it is configured.
        tick: The present one.
        step: Engine seconds of a tick.
    """

    def __init__(self, queue: Queue, tick: int, step: float) -> None:
        self.queue = queue
        self.waiting = WaitingCounts(queue)
        self.history = ChartHistory()
        self.recent: deque[RecordedMatch] = deque(maxlen=RECENT)
        self.qualities = [0] * QUALITY_BARS
        self.totals = dict.fromkeys(COUNTS, 0)
        self._step = step
        self._tick = tick
        self._counts = dict.fromkeys(COUNTS, 0)
        self._waits: deque[tuple[int, float]] = deque(maxlen=WAITS_MOST)
        self._percentiles = (math.nan,) * len(PERCENTILES)
        self._waits_changed = False
        self._bars: deque[int] = deque()
        self._objective: Objective | None = None
        self._gaps = Gaps(queue)
        self._unmeasured: deque[RecordedMatch] = deque(maxlen=MEASURED)
        # Of matches that may be called off yet, what they added.
        self._added: dict[str, MatchFigures] = {}
        self._measured: deque[tuple[str, tuple[float, ...]]] = deque(maxlen=MEASURED)

    def configure(self, queue: Queue) -> None:
        """Take a new version of the queue; who waits is entered anew by the caller."""
        self.queue = queue
        self.waiting = WaitingCounts(queue)
        self._objective = None
        self._gaps = Gaps(queue)
        self._unmeasured.clear()
        self._measured.clear()

    def advance(self, tick: int) -> None:
        """Close all ticks before this one. A gap in which nothing happened costs two rows."""
        if tick <= self._tick:
            return
        self._close(self._tick)
        if tick - self._tick > 1:
            self._close(self._tick + 1)
        if tick - self._tick > 2:
            self._close(tick - 1)
        self._tick = tick

    def count(self, name: str, by: int = 1) -> None:
        """Count something that happened in this tick."""
        self._counts[name] += by
        self.totals[name] += by

    def match(self, made: RecordedMatch) -> None:
        """Note a match; its tickets wait no more."""
        match = made.match
        self.count("matches")
        self.recent.append(made)
        self._unmeasured.append(made)
        waits: list[float] = []
        for ticket in made.tickets:
            if ticket is not None:
                waits += [match.at - ticket.enqueued_at] * ticket.size
        self.count("players", len(waits))
        self._waits.extend([(self._tick, wait) for wait in waits])
        self._waits_changed = True
        bar = None
        if match.quality is not None:
            bar = min(max(int(match.quality * QUALITY_BARS), 0), QUALITY_BARS - 1)
            self._bars.append(bar)
            self.qualities[bar] += 1
            if len(self._bars) > QUALITIES_MOST:
                self.qualities[self._bars.popleft()] -= 1
        self._added[match.id] = MatchFigures(match.id, self._tick, tuple(waits), bar)

    def settle(self, match_id: str) -> None:
        """Let a match count for good that can't be void any more."""
        self._added.pop(match_id, None)

    def take_back(self, match_id: str) -> None:
        """Take what a void match added out of all figures: nobody played it."""
        counted = self._added.pop(match_id, None)
        if counted is None:
            return
        for name, by in (("matches", 1), ("players", len(counted.waits))):
            self.totals[name] -= by
            if counted.tick == self._tick:
                self._counts[name] -= by
            else:
                self.history.take_back(counted.tick, name, by)
        for wait in counted.waits:
            remove_last(self._waits, (counted.tick, wait))
        self._waits_changed = True
        if counted.bar is not None and remove_last(self._bars, counted.bar):
            self.qualities[counted.bar] -= 1
        for kept in (self.recent, self._unmeasured):
            for made in [made for made in kept if made.match.id == counted.match]:
                kept.remove(made)
        for found in [found for found in self._measured if found[0] == counted.match]:
            self._measured.remove(found)

    def factors(self, made: RecordedMatch) -> tuple[tuple[float, float], ...] | None:
        """Return what each criterion cost in a match, and its weight.

        Returns:
            None where a ticket of the match is not known any more, or was proposed before the
            queue compared what it lacks.
        """
        teams = made.teams()
        if teams is None:
            return None
        objective = self._objective_of(made.queue)
        if not _can_compare(teams, objective):
            return None
        costs = objective.factors(teams, made.match.bots, region=made.match.region)
        return tuple(zip(costs, objective.weights, strict=True))

    def gaps(self, made: RecordedMatch) -> dict[str, float]:
        """Return what a match is like in the units of what its queue compares, by name.

        Returns:
            Nothing of a match with bots or one that fills another, or where a ticket of it is not
            known any more.
        """
        teams = made.teams()
        if teams is None or made.match.bots or made.match.extends is not None:
            return {}
        if not _can_compare(teams, self._objective_of(made.queue)):
            return {}
        gaps = self._gaps if made.queue is self.queue else Gaps(made.queue)
        found = zip(
            gaps.names, gaps.of(teams, made.match.roles, region=made.match.region), strict=True
        )
        return {name: value for name, value in found if not math.isnan(value)}

    def _objective_of(self, queue: Queue) -> Objective:
        objective = self._objective
        if objective is None or objective.queue is not queue:
            objective = self._objective = Objective(queue)
        return objective

    def mean_gaps(self) -> dict[str, float]:
        """Return the mean of each gap over the last matches, at most `MEASURED`.

        Complexity:
            That of the matches since the last call: while nobody looks none is measured.
        """
        while self._unmeasured:
            made = self._unmeasured.popleft()
            found = self.gaps(made)
            if found:
                values = tuple([found.get(n, math.nan) for n in self._gaps.names])
                self._measured.append((made.match.id, values))
        means = {}
        columns = zip(*[values for _, values in self._measured], strict=True)
        for name, column in zip(self._gaps.names, columns, strict=False):
            known = [value for value in column if not math.isnan(value)]
            if known:
                means[name] = math.fsum(known) / len(known)
        return means

    def _close(self, tick: int) -> None:
        now = (tick + 1) * self._step
        oldest = self.waiting.oldest()
        longest = math.nan if oldest is None else max(0.0, now - oldest.enqueued_at)
        row = [float(count) for count in self._counts.values()]
        row += [
            len(self.waiting),
            *self._wait_percentiles(tick),
            longest,
            self.waiting.overdue(now),
        ]
        self.history.push(tick, row)
        self._counts = dict.fromkeys(COUNTS, 0)

    def _wait_percentiles(self, tick: int) -> tuple[float, ...]:
        """Return the waits that p % of the players matched in the window do not exceed."""
        waits = self._waits
        while waits and waits[0][0] <= tick - WINDOW:
            waits.popleft()
            self._waits_changed = True
        if self._waits_changed:
            self._waits_changed = False
            ordered = sorted([wait for _, wait in waits])
            self._percentiles = tuple(_percentile(ordered, p) for p in PERCENTILES)
        return self._percentiles


def _percentile(ordered: list[float], percent: int) -> float:
    # The nearest rank: ceil(n p / 100), counted from 1.
    return ordered[max(-(-len(ordered) * percent // 100), 1) - 1] if ordered else math.nan


def _can_compare(teams: Teams, objective: Objective) -> bool:
    """Return whether all who play have what a queue's present version looks at."""
    return all(
        objective.missing(ticket) is None
        and all(key in ticket.percentiles for key in objective.samples)
        for team in teams
        for ticket in team
    )


# The last hour of one queue in two grains: single ticks for minutes, ten of them for the hour.

COUNTS = (
    "arrivals",
    "matches",
    "players",
    "expired",
    "cancelled",
    "proposed",
    "repaired",
    "failed",
    "asked",
    "unready",
)
"""What happened in a tick: `players` were matched, `failed` proposals dissolved, and of the players
`asked` to accept `unready` ones declined, withdrew or said nothing."""
SUMMED = ("asked", "unready")
"""Counts of which pages are told the sum alone: an hour of them would be a tenth of all they get.
"""
SUM_TICKS = 300
"""Ticks of such a sum."""
GAUGES = ("waiting", "p50", "p90", "p99", "longest", "overdue")
"""What was so at the end of a tick; waits in engine seconds."""
COLUMNS = (*COUNTS, *GAUGES)
FINE_MOST = 315
"""Rows of one tick: five minutes and a little."""
COARSE_MOST = 363
"""Rows of ten ticks: an hour and a little."""
COARSE = 10
DECIMALS = ((10.0, 3), (100.0, 2))
"""Decimals of numbers below a limit, else one: charts show no more, and an hour has thousands."""

Table = dict[str, list[float | int | None]]


class ChartHistory:
    """What charts show; memory is bounded whatever happens."""

    def __init__(self) -> None:
        self._fine: deque[array[float]] = deque(maxlen=FINE_MOST)
        self._coarse: deque[array[float]] = deque(maxlen=COARSE_MOST)

    def push(self, tick: int, row: list[float]) -> None:
        """Add the row of a tick, later than all before; `row` has the numbers of `COLUMNS`."""
        self._fine.append(array("d", (tick, *row)))
        slot = tick - tick % COARSE
        if self._coarse and self._coarse[-1][0] == slot:
            last, counts = self._coarse[-1], len(COUNTS)
            for at, value in enumerate(row, start=1):
                last[at] = last[at] + value if at <= counts else value
        else:
            self._coarse.append(array("d", (slot, *row)))

    def take_back(self, tick: int, name: str, by: int) -> None:
        """Subtract from a count of a closed tick, in both grains, as far as they are kept."""
        at = 1 + COLUMNS.index(name)
        for rows, start in ((self._fine, tick), (self._coarse, tick - tick % COARSE)):
            for row in reversed(rows):
                if row[0] <= start:
                    if row[0] == start:
                        row[at] -= by
                    break

    def sum(self, name: str) -> int:
        """Return how often something happened in the last `SUM_TICKS` ticks that are closed."""
        if not self._fine:
            return 0
        at, since = 1 + COLUMNS.index(name), self._fine[-1][0] - SUM_TICKS
        return int(sum([row[at] for row in self._fine if row[0] > since]))

    def fine(self, most: int = FINE_MOST) -> Table:
        """Return the last rows of one tick by column, with the column `tick`."""
        return _by_column(self._fine, most)

    def coarse(self) -> Table:
        """Return the rows of ten ticks by column."""
        return _by_column(self._coarse, COARSE_MOST)


def _by_column(rows: deque[array[float]], most: int) -> Table:
    chosen = list(rows)[-most:]
    columns = zip(*chosen, strict=True) if chosen else [()] * (1 + len(COLUMNS))
    names = ("tick", *COLUMNS)
    return {
        name: [_short(v) for v in values]
        for name, values in zip(names, columns, strict=True)
        if name not in SUMMED
    }


def _short(value: float) -> float | int | None:
    """Return a number in few characters; None where there is none.

    >>> _short(7.1234), _short(71.234), _short(712.34), _short(7.0), _short(math.nan)
    (7.123, 71.23, 712.3, 7, None)
    """
    if math.isnan(value):
        return None
    if value.is_integer():
        return int(value)
    return round(value, next((most for below, most in DECIMALS if abs(value) < below), 1))

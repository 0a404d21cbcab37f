"""Check a file of matches against a configuration, as far as the file alone allows.

Its lines name tickets, not players or attributes. So the check covers: known queues, each ticket in
one match, teams made of the match's tickets, seats, bots only if a queue has them, finite numbers
(JSON with others is not read), and qualities in [0, 1].
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from evenmatch.errors import ConfigError
from evenmatch.model.queue import Queue


class MatchLine(msgspec.Struct, frozen=True):
    """One line of a matches file; `policy` and `run` tell the runs of one file apart."""

    match: str
    queue: str
    at: float
    tickets: tuple[str, ...]
    teams: tuple[tuple[str, ...], ...]
    bots: int
    cost: float
    quality: float | None
    policy: str | None = None
    run: int | None = None
    roles: tuple[tuple[str, ...], ...] | None = None


class MatchCheck:
    """A check of the lines of a file; it is used once.

    Args:
        queues: The configuration.
    """

    def __init__(self, queues: tuple[Queue, ...]) -> None:
        self.count = 0
        self._queues = {queue.name: queue for queue in queues}
        self._seen: dict[tuple[str | None, int | None, str, str], int] = {}
        self._decoder = msgspec.json.Decoder(MatchLine)

    def problems(self, path: str | Path) -> Iterator[str]:
        """Yield a sentence for each rule that a line breaks.

        Raises:
            ConfigError: The file cannot be read.
        """
        try:
            with Path(path).open("rb") as file:
                for number, text in enumerate(file, 1):
                    if text.strip():
                        for problem in self._line(number, text):
                            yield f"line {number}: {problem}"
        except OSError as error:
            raise ConfigError(f"{path} cannot be read: {error.strerror or error}") from None

    def _line(self, number: int, text: bytes) -> Iterator[str]:
        try:
            line = self._decoder.decode(text)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            yield f"not a match as simulate writes it: {error}"
            return
        self.count += 1
        for name in (("match", line.match), *(("ticket", ticket) for ticket in line.tickets)):
            before = self._seen.setdefault((line.policy, line.run, *name), number)
            if before != number:
                yield f"{name[0]} {name[1]} was in line {before} already"
        if line.quality is not None and not 0.0 <= line.quality <= 1.0:
            yield f"quality must be in [0, 1], got {line.quality}"
        queue = self._queues.get(line.queue)
        if queue is None:
            yield f"no queue is called {line.queue}; allowed: {', '.join(self._queues)}"
        else:
            yield from _seats(line, queue)


def _seats(line: MatchLine, queue: Queue) -> Iterator[str]:
    seated = [ticket for team in line.teams for ticket in team]
    if sorted(seated) != sorted(line.tickets) or len(set(seated)) != len(seated):
        yield "the teams must hold each of the match's tickets exactly once"
    seats = queue.format.players
    if len(line.teams) != len(seats):
        yield f"queue {queue.name} has {len(seats)} teams, got {len(line.teams)}"
        return
    if line.bots < 0 or (line.bots and queue.on_deadline != "bots"):
        yield f"queue {queue.name} allows no bots here, got {line.bots}"
    if not line.tickets:
        yield "a match must have a ticket"
    yield from _sizes(line, queue)
    yield from _roles(line, queue)


def _sizes(line: MatchLine, queue: Queue) -> Iterator[str]:
    """Compare numbers of tickets with seats; the sizes of parties are not in the file."""
    format_ = queue.format
    sizes = format_.party_sizes or tuple(range(1, max(format_.players) + 1))
    least, most = min(sizes), max(sizes)
    for team, seats in zip(line.teams, format_.players, strict=True):
        if len(team) * least > seats:
            yield f"a team has {seats} seats, got {len(team)} tickets"
    players_least = len(line.tickets) * least + line.bots
    players_most = line.bots + sum(
        min(len(team) * most, seats)
        for team, seats in zip(line.teams, format_.players, strict=True)
    )
    if players_least > format_.k or players_most < format_.k_min:
        count = f"{format_.k_min} to {format_.k}" if format_.is_variable else f"{format_.k}"
        yield (
            f"a match of queue {queue.name} has {count} players, "
            f"got {len(line.tickets)} tickets and {line.bots} bots"
        )


def _roles(line: MatchLine, queue: Queue) -> Iterator[str]:
    """Check that each role has at most its number of players."""
    seats = dict(queue.format.roles)
    if not seats and line.roles is None:
        return
    for team in line.roles or ():
        for role in dict.fromkeys(team):
            if team.count(role) > seats.get(role, 0):
                taken = f"{seats[role]} of role {role}" if role in seats else f"no role {role}"
                yield f"a team of queue {queue.name} has {taken}, got {team.count(role)}"
    if len(line.roles or ()) != len(queue.format.players):
        yield f"roles must be given for each of the {len(queue.format.players)} teams"

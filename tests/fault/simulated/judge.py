"""Whether what clients saw can have been: each answer against the records of its time.

The store is one, so the order of its records is the order of all that happened. An answer must be
true after some record that was the last one at an instant between question and answer. That alone
says that nothing acknowledged is lost, that no read goes backwards, and that whoever was cancelled
is never matched later.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tests.fault.simulated import running
from tests.fault.simulated.history import Seen
from tests.fault.simulated.recount import LIVE, NOBODY, Recount, State

OVER = frozenset({"cancelled", "expired"})
OVER_NOW = running.OVER
HAVE_MATCH = frozenset({"matched", "assigned"})


def judged(recount: Recount, history: Sequence[Seen]) -> list[str]:
    """Return what cannot have been, one sentence each."""
    judge = Judge(recount)
    for seen in history:
        judge.take(seen)
    return judge.problems


def check_keys(history: Sequence[Seen]) -> list[str]:
    """I8: one key of a game, one ticket; return the answers that say otherwise."""
    first: dict[str, str] = {}
    found = []
    for seen in history:
        if seen.kind == "create" and seen.status in (200, 201):
            told = first.setdefault(seen.about, seen.body["id"])
            if told != seen.body["id"]:
                found.append(f"I8: this key was answered with {told} before: {seen}")
    return found


class Judge:
    """Compares answers with records.

    Args:
        recount: The records.
    """

    def __init__(self, recount: Recount) -> None:
        self._recount = recount
        self.problems: list[str] = []

    def take(self, seen: Seen) -> None:
        """Judge one answer."""
        if seen.status >= 500 and seen.status != 503:
            self._wrong("I16", seen, "no server fails on a request")
        elif seen.status in (429, 503):
            if "retry-after" not in seen.headers:
                self._wrong("I16", seen, "whoever is sent away is told when to come back")
        elif seen.status == 401 or (seen.status == 403 and seen.body["error"] == "forbidden"):
            self._wrong("I16", seen, "who has the key of a game is let in")
        elif seen.kind == "odd":
            if seen.status != 400:
                self._wrong("I13", seen, "a number out of range was not refused")
        elif seen.kind == "meddle":
            if seen.status < 400:
                self._wrong("I2", seen, "a ticket that there is not was taken to have a seat")
        elif seen.kind == "create":
            self._create(seen)
        elif seen.kind == "create again":
            self._create_again(seen)
        elif seen.kind == "get":
            self._get(seen)
        elif seen.kind == "cancel":
            self._cancel(seen)
        elif seen.kind == "assign":
            self._assign(seen)
        elif seen.kind == "feed":
            self._feed(seen)
        elif seen.kind == "stream":
            self._stream(seen)
        elif seen.kind == "followed":
            self._followed(seen)
        elif seen.kind == "accept" and seen.status == 200:
            self._accept(seen)
        elif seen.kind in ("roster", "finish"):
            self._running(seen)

    def _wrong(self, invariant: str, seen: Seen, sentence: str) -> None:
        self.problems.append(f"{invariant}: {sentence}: {seen}")

    def _window(self, seen: Seen) -> tuple[int, int]:
        """Return the last records of the store when it was asked and when it was answered."""
        return self._recount.position(seen.sent), self._recount.position(seen.got)

    def _states(self, seen: Seen, ticket: str) -> list[State]:
        life = self._recount.lives.get(ticket)
        return [NOBODY] if life is None else life.within(*self._window(seen))

    def _create(self, seen: Seen) -> None:
        if seen.status == 409 and seen.body["error"] == "already_waiting":
            self._check_waits(seen)
        if seen.status not in (200, 201):
            return
        ticket, (_, last) = seen.body["id"], self._window(seen)
        life = self._recount.lives.get(ticket)
        if life is None or life.since[0] > last:
            self._wrong("I4", seen, f"ticket {ticket} was acknowledged and is not in the store")
            return
        players, queue = seen.given
        mine = sorted(player.id for player in life.new.players)
        if mine != sorted(players) or queue not in life.new.queues:
            self._wrong("I4", seen, f"ticket {ticket} belongs to {mine}")

    def _check_waits(self, seen: Seen) -> None:
        """I1: whoever is told to wait or to play already does."""
        states = {each[0] for each in self._states(seen, seen.body.get("ticket") or "")}
        match = self._recount.running.matches.get(seen.body.get("match") or "")
        known = [] if match is None else match.within(*self._window(seen))
        teams = [team for each in known if isinstance(each, tuple) for team in each[2]]
        plays = not {player for team in teams for player in team}.isdisjoint(seen.given[0])
        if not (states & LIVE or plays):
            self._wrong("I1", seen, f"nobody waits or plays there: it was {states}")

    def _create_again(self, seen: Seen) -> None:
        """Another body: a conflict, unless it is the one that came first."""
        seq, mean = self._recount.keys.get(seen.about, (math.inf, None))
        if seen.status in (200, 201) and seq <= self._window(seen)[0] and mean != seen.given:
            self._wrong("I8", seen, "the key was used with another body, and is taken again")

    def _get(self, seen: Seen) -> None:
        states = self._states(seen, seen.about)
        if seen.status == 404:
            if NOBODY not in states:
                self._wrong("I4", seen, f"the ticket is unknown, and was {states}")
            return
        if seen.status != 200:
            return
        told = (seen.body["state"], seen.body["match"], seen.body["reason"])
        if told not in states:
            self._wrong("I4", seen, f"it was never {told} meanwhile, only {states}")
            return
        self._check_wait(seen)
        if told[0] == "assigned":
            places = [place for _, place in self._recount.assigned[told[1] or ""]]
            if seen.body["assignment"] not in places:
                self._wrong("I4", seen, f"nobody assigned that, only {places}")

    def _check_wait(self, seen: Seen) -> None:
        """I11 and I14: whoever has ended waited from their own beginning to their end."""
        life, wait = self._recount.lives[seen.about], seen.body["wait"]
        if seen.body["state"] not in OVER | HAVE_MATCH:
            return
        ends = [self._recount.records[seq - 1].input.now for seq in life.since]
        if not any(abs(end - life.enqueued_at - wait) < 1e-6 for end in ends):
            self._wrong("I14", seen, f"it came at {life.enqueued_at} s and changed at {ends}")

    def _cancel(self, seen: Seen) -> None:
        states = self._states(seen, seen.about)
        if seen.status == 200 and seen.body["state"] not in OVER & {each[0] for each in states}:
            self._wrong("I7", seen, f"it was {states}")
        if seen.status == 409 and seen.body["error"] == "too_late":
            matches = [state[1] for state in states if state[0] in HAVE_MATCH]
            ended = [state for state in states if state[0] == "expired"]
            if not ended and seen.body.get("match") not in matches:
                self._wrong("I7", seen, f"it is told to be too late, and was {states}")
        if seen.status == 404 and NOBODY not in states:
            self._wrong("I7", seen, f"the ticket is unknown, and was {states}")

    def _assign(self, seen: Seen) -> None:
        if seen.status == 200:
            _, last = self._window(seen)
            told = self._recount.assigned.get(seen.about, [])
            if not any(seq <= last and place == seen.given for seq, place in told):
                self._wrong("I4", seen, f"the assignment is not in the store, only {told}")
        elif seen.status == 404 and seen.about not in self._recount.matches:
            return  # its record was lost, which other accounts tell
        elif seen.status == 404 and self._recount.matches[seen.about][0] <= self._window(seen)[0]:
            self._wrong("I4", seen, "the match was made, and is unknown")

    def _accept(self, seen: Seen) -> None:
        _, last = self._window(seen)
        confirmed = self._recount.confirmed.get((seen.about, seen.given))
        if confirmed is None or confirmed > last:
            self._wrong("I4", seen, "it was told to be accepted, and is not in the store")

    def _running(self, seen: Seen) -> None:
        """What is told of a running match was so meanwhile, and what was asked for is done."""
        match, (first, last) = self._recount.running.matches.get(seen.about), self._window(seen)
        if match is None or match.since[0] > first:
            return  # Its record was lost, which other accounts tell.
        states = match.within(first, last)
        rosters = [each for each in states if not isinstance(each, str)]
        if seen.status == 200 and seen.kind == "finish":
            if OVER_NOW not in states:
                self._wrong("I4", seen, f"it was told to be over, and was {states}")
        elif seen.status == 200:
            told = _roster(seen.body)
            if told not in states:
                self._wrong("I4", seen, f"it was never {told} meanwhile, only {states}")
            if not set((seen.given or {}).get("left", ())) <= set(told[3]):
                self._wrong("I4", seen, f"who has left is told not to have: {told[3]}")
        elif seen.status == 404:
            self._wrong("I4", seen, "the match was made, and is unknown")
        elif seen.status == 409 and seen.body["error"] == "stale_roster":
            if seen.body["roster_version"] not in [each[1] for each in rosters]:
                self._wrong("I4", seen, f"no such version: {states}")
        elif seen.status == 409 and seen.body["error"] == "no_backfill" and OVER_NOW not in states:
            self._wrong("I4", seen, f"it is told to be over, and was {states}")

    def _stream(self, seen: Seen) -> None:
        """Each event is what its record says, in order, and none in between is left out."""
        life, last = self._recount.lives.get(seen.about), seen.given
        first, _ = self._window(seen)
        if life is None:
            # Its record was lost, which other accounts tell.
            return
        if not seen.body and any(last < each <= first for each in life.since):
            self._wrong("I4", seen, f"the stream is silent about {life.since} after {last}")
        for place, (got, seq, body) in enumerate(seen.body):
            told = (body["state"], body["match"], body["reason"])
            if told not in life.within(seq, seq):
                self._wrong("I4", seen, f"record {seq} says {life.within(seq, seq)}, not {told}")
            if seq <= last:
                self._wrong("I4", seen, f"event {seq} comes after {last}")
            if seq > self._recount.position(got):
                self._wrong("I4", seen, f"event {seq} is told before the store has it")
            missed = [each for each in life.since if last < each < seq]
            if place and missed:
                self._wrong("I4", seen, f"the changes {missed} are left out")
            last = seq

    def _followed(self, seen: Seen) -> None:
        """What the package's stream yields: states in their order, none of them foretold."""
        life, place = self._recount.lives.get(seen.about), 0
        if life is None:
            return
        for got, *told in seen.body:
            known = self._recount.position(got)
            later = [
                each
                for each in range(place, len(life.states))
                if life.states[each] == tuple(told) and life.since[each] <= known
            ]
            if not later:
                self._wrong("I4", seen, f"{told} at {got:.3f} s is not what came: {life.states}")
                return
            place = later[0]
        if not seen.body or seen.body[-1][1] not in OVER | {"assigned"}:
            self._wrong("I4", seen, "the stream ended before the ticket did")

    def _feed(self, seen: Seen) -> None:
        """Every match once, in order, none left out."""
        if seen.status != 200:
            return
        first, last = self._window(seen)
        after, upto = seen.given, seen.body["next"]
        told = [(each["seq"], each["match"]) for each in seen.body["matches"]]
        made = [
            (seq, match.id)
            for seq, match in self._recount.matches.values()
            if match.queue == seen.about and after < seq <= max(upto, after)
        ]
        if sorted(told) != sorted(made) or told != sorted(told, key=lambda each: each[0]):
            self._wrong("I4", seen, f"the feed after {after} must be {made}")
        if upto > last:
            self._wrong("I4", seen, f"the feed is at {upto}, and the store at {last}")
        missed = [
            seq
            for seq, match in self._recount.matches.values()
            if match.queue == seen.about and upto < seq <= first
        ]
        if not told and missed:
            self._wrong("I4", seen, f"the feed leaves out {missed}")


def _roster(told: dict[str, Any]) -> running.Roster:
    """Return what a backend is told of a running match, in the order of the recount."""
    teams = tuple([tuple(sorted(team)) for team in told["players"]])
    left, fills = tuple(sorted(told["left"])), tuple(told["fills"])
    version, asked = told["roster_version"], told.get("proposed", "")
    return (told["open"], version, teams, left, fills, asked)

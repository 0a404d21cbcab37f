"""What clients were told of every ticket, so that none is lost and none is played twice."""

from __future__ import annotations

from collections import Counter

OVER = frozenset({"assigned", "cancelled", "expired"})


class Ledger:
    """Tickets by id with the last state heard of, and the matches of the feeds."""

    def __init__(self) -> None:
        self.states: dict[str, str] = {}
        self.match_of: dict[str, str] = {}
        self.matches: set[str] = set()
        self.cancelled: set[str] = set()
        self.repeated: list[str] = []
        self.wrong: Counter[str] = Counter()

    def created(self, ticket: str) -> None:
        """Note a ticket that the server has taken."""
        if ticket in self.states:
            self.wrong["an id was given twice"] += 1
        self.states[ticket] = "waiting"

    def heard(self, ticket: str, state: str) -> bool:
        """Note a state, and return whether it is news; what is over stays as it is."""
        before = self.states.get(ticket)
        if before is None or before == state:
            return False
        if before in OVER:
            self.wrong[f"a ticket became {state} after it was {before}"] += 1
            return False
        if before == "matched" and state not in OVER:
            self.wrong[f"a ticket became {state} after it was matched"] += 1
        self.states[ticket] = state
        return True

    def matched(self, match: str, tickets: list[str]) -> bool:
        """Note a match of a feed, and return whether it is a new one."""
        if match in self.matches:
            # A feed may tell of a match again after the connection was lost.
            self.repeated.append(match)
            return False
        self.matches.add(match)
        for ticket in tickets:
            if (other := self.match_of.setdefault(ticket, match)) != match:
                self.wrong[f"a ticket is in two matches, {other} and {match}"] += 1
        return True

    def live(self) -> list[str]:
        """Return the tickets of which no end was heard."""
        return [ticket for ticket, state in self.states.items() if state not in OVER]

    def settle(self) -> None:
        """Compare at the end what was heard with the feeds."""
        for ticket, state in self.states.items():
            if state in {"matched", "assigned"} and ticket not in self.match_of:
                self.wrong["a ticket was matched in a match that no feed has shown"] += 1
            if state in {"cancelled", "expired"} and ticket in self.match_of:
                self.wrong[f"a ticket was {state} and played"] += 1
            if ticket in self.cancelled and state != "cancelled":
                self.wrong[f"a ticket was cancelled for its owner and {state} for others"] += 1
        for ticket in self.match_of:
            if ticket not in self.states:
                self.wrong["a ticket was played that nobody was told of"] += 1

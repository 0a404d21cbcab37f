"""What clients asked and were told, and when."""

from typing import Any

import msgspec


class Seen(msgspec.Struct, frozen=True):
    """One answer.

    Args:
        kind: `create`, `create again` with another body, `cancel`, `get`, `accept`, `decline`,
            `assign`, `feed`, `stream`, `roster` and `finish` of a running match, or `meddle` in
            what is another's.
        sent: When it was asked, the world's seconds.
        got: When the answer was here.
        node: Who answered.
        status: Of HTTP.
        about: What was asked: the ticket, the match, the queue, or the idempotency key.
        given: What was sent along: players of a create, the assignment, where the feed goes on.
        body: The answer, decoded.
        headers: Of the answer.
        tenant: Whose game was asked.
    """

    kind: str
    sent: float
    got: float
    node: str
    status: int
    about: str
    given: Any
    body: Any
    headers: dict[str, str]
    tenant: str = ""

    def __str__(self) -> str:
        """Return it for people."""
        when = f"{self.sent:.3f} to {self.got:.3f} s"
        body = msgspec.json.encode(self.body).decode()[:200]
        return f"{self.kind} {self.about} at {self.node}, {when}: {self.status} {body}"

"""Why a caller is turned away."""

from __future__ import annotations

from evenmatch.errors import Refusal


class Unauthenticated(Refusal):
    """The request needs a key or a token that is valid here.

    Args:
        message: What the caller is told; it never says which games there are.
        reason: What the audit log is told, one word.
    """

    code = "unauthenticated"

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class Forbidden(Refusal):
    """The caller is known, but may not do this."""

    code = "forbidden"


class TooManyRequests(Refusal):
    """The caller asks more often than allowed; `seconds` says when to ask again."""

    code = "too_many_requests"

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


def unknown_credential(reason: str) -> Unauthenticated:
    """Return the one refusal of everything that is not a valid key or token."""
    return Unauthenticated("the key or token is not valid here; get a new one", reason)


def bad_claim(claim: str, words: str, reason: str) -> Unauthenticated:
    """Return the refusal of a token for one of its claims.

    It names the claim and never what would be right there, so that it helps whoever makes tokens,
    and nobody who guesses.
    """
    return Unauthenticated(f"the token's {claim} {words}; get a new one", reason)


def no_credential() -> Unauthenticated:
    """Return the refusal of a request that carries neither a key nor a token."""
    return Unauthenticated(
        "this needs a key or a token: send the header Authorization: Bearer KEY", "none"
    )

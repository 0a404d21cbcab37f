"""Errors of GameLift's calls: AWS's names for our errors."""

from __future__ import annotations

from evenmatch.errors import (
    ConfigError,
    Draining,
    Forgotten,
    JournalError,
    MatchmakingError,
    NotSupported,
    Overloaded,
    Refusal,
    StaleVersion,
    UnknownMatch,
    UnknownQueue,
    UnknownTicket,
)
from evenmatch.server.auth.principal import Forbidden, TooManyRequests, Unauthenticated
from evenmatch.server.http.responses import BodyTooLarge

BUSY = (Overloaded, Draining, JournalError)
MISSING = (UnknownQueue, UnknownTicket, UnknownMatch, Forgotten)
NOT_FOUND = "NotFoundException"
"""The name of what goes wrong where nothing is there."""


class ServiceError(Exception):
    """A failed call, in AWS's terms.

    Args:
        name: AWS's name of it: `InvalidRequestException`.
        message: What was given, what is allowed, what to do.
        status: Of HTTP.
    """

    def __init__(self, name: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.name = name
        self.message = message
        self.status = status


def invalid(message: str) -> ServiceError:
    """Return the error of an invalid request."""
    return ServiceError("InvalidRequestException", message)


def missing(what: str, name: str) -> ServiceError:
    """Return the error of a request that names something that does not exist."""
    return ServiceError(NOT_FOUND, f"there is no {what} {name[:128]!r}")


def too_many(message: str) -> ServiceError:
    """Return the error of a request beyond a quota."""
    return ServiceError("LimitExceededException", message)


def service_error_of(error: MatchmakingError) -> ServiceError:
    """Return one of our errors in AWS's terms.

    What may work a moment later has a status and a name that AWS's clients retry by themselves.
    """
    text = error.message if isinstance(error, Refusal) else str(error)
    if isinstance(error, Unauthenticated):
        return ServiceError("UnrecognizedClientException", text, 403)
    if isinstance(error, Forbidden):
        return ServiceError("UnauthorizedException", text, 403)
    if isinstance(error, TooManyRequests):
        return ServiceError("ThrottlingException", text, 400)
    if isinstance(error, BodyTooLarge):
        return ServiceError("RequestEntityTooLargeException", text, 413)
    if isinstance(error, StaleVersion):
        return ServiceError("ThrottlingException", text, 400)
    if isinstance(error, BUSY):
        return ServiceError("ServiceUnavailableException", text, 503)
    if isinstance(error, MISSING):
        return ServiceError(NOT_FOUND, text)
    if isinstance(error, Refusal | ConfigError | NotSupported):
        return invalid(text)
    return ServiceError("InternalServiceException", "the server has failed; its log says why", 500)

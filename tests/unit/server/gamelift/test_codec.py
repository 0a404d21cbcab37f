"""Bodies of AWS JSON 1.1, right and wrong."""

from typing import Any

import msgspec
import pytest

from evenmatch.errors import ConfigError, JournalUnavailable, PolicyError, UnknownTicket
from evenmatch.server.auth.principal import Forbidden, TooManyRequests
from evenmatch.server.gamelift import codec, shapes
from evenmatch.server.gamelift.service_errors import ServiceError, service_error_of


def test_null_means_left_out() -> None:
    players = b'[{"PlayerId": "p", "Team": null}]'
    body = b'{"TicketId": null, "ConfigurationName": "c", "Players": ' + players + b"}"
    given = codec.decode(body, shapes.StartMatchmaking)
    assert given.ticket_id is None
    assert given.players == (shapes.PlayerShape(player_id="p"),)


def test_unknown_fields_are_passed_over() -> None:
    assert codec.decode(b'{"TicketId": "t", "New": {}}', shapes.StopMatchmaking).ticket_id == "t"


@pytest.mark.parametrize(
    ("body", "name", "said"),
    [
        (b"{", "SerializationException", "JSON"),
        (b"[1]", "SerializationException", "an object"),
        (b"\xff\xfe", "SerializationException", "JSON"),
        (b'{"TicketId": ' + b"[" * 50 + b"]" * 50 + b"}", "SerializationException", "too deep"),
        (b'{"TicketId": ' + b"[" * 90_000 + b"]" * 90_000 + b"}", "SerializationException", "deep"),
        (b'{"TicketId": 1}', "InvalidRequestException", "TicketId: "),
        (b"", "InvalidRequestException", "TicketId"),
        (b'{"TicketId": null}', "InvalidRequestException", "TicketId"),
        (b'{"TicketId": "a b"}', "InvalidRequestException", "TicketId: "),
    ],
)
def test_wrong_body_is_refused_with_its_place(body: bytes, name: str, said: str) -> None:
    with pytest.raises(ServiceError) as caught:
        codec.decode(body, shapes.StopMatchmaking)
    assert (caught.value.name, caught.value.status) == (name, 400)
    assert said in caught.value.message


@pytest.mark.parametrize("target", [None, "", "GameLift", "Other.StopMatchmaking"])
def test_target_of_another_service_is_refused(target: str | None) -> None:
    with pytest.raises(ServiceError):
        codec.operation_of(target)
    assert codec.operation_of("GameLift.StopMatchmaking") == "StopMatchmaking"


@pytest.mark.parametrize(
    ("error", "name", "status"),
    [
        (ConfigError("x"), "InvalidRequestException", 400),
        (UnknownTicket("x"), "NotFoundException", 400),
        (Forbidden("x"), "UnauthorizedException", 403),
        (TooManyRequests("x", 1.0), "ThrottlingException", 400),
        (JournalUnavailable("x"), "ServiceUnavailableException", 503),
        (PolicyError("secret"), "InternalServiceException", 500),
    ],
)
def test_our_errors_have_names_of_aws(error: Any, name: str, status: int) -> None:
    found = service_error_of(error)
    assert (found.name, found.status) == (name, status)
    assert "secret" not in found.message
    answer = codec.refusal(found)
    told = msgspec.json.decode(bytes(answer.body))
    assert (told["__type"], answer.headers["x-amzn-errortype"]) == (name, name)
    assert ("retry-after" in answer.headers) == (status == 503)

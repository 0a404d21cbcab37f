"""Bodies of AWS JSON 1.1 and of RPC v2 CBOR, right and wrong."""

from typing import Any

import msgspec
import pytest
from starlette.requests import Request

from evenmatch.errors import ConfigError, JournalUnavailable, PolicyError, UnknownTicket
from evenmatch.server.auth.principal import Forbidden, TooManyRequests
from evenmatch.server.gamelift import cbor, shapes
from evenmatch.server.gamelift.codec import CBOR, JSON, Codec, codec_of
from evenmatch.server.gamelift.service_errors import ServiceError, service_error_of


def test_null_means_left_out() -> None:
    players = b'[{"PlayerId": "p", "Team": null}]'
    body = b'{"TicketId": null, "ConfigurationName": "c", "Players": ' + players + b"}"
    given = JSON.decode(body, shapes.StartMatchmaking)
    assert given.ticket_id is None
    assert given.players == (shapes.PlayerShape(player_id="p"),)


def test_unknown_fields_are_passed_over() -> None:
    assert JSON.decode(b'{"TicketId": "t", "New": {}}', shapes.StopMatchmaking).ticket_id == "t"


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
        (
            b'{"TicketId": "a b"}',
            "InvalidRequestException",
            "TicketId: has characters that are not allowed; it must match [a-zA-Z0-9.-]*",
        ),
    ],
)
def test_wrong_body_is_refused_with_its_place(body: bytes, name: str, said: str) -> None:
    with pytest.raises(ServiceError) as caught:
        JSON.decode(body, shapes.StopMatchmaking)
    assert (caught.value.name, caught.value.status) == (name, 400)
    assert said in caught.value.message


def request_of(**headers: str) -> Request:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    path = "/service/GameLift/operation/StopMatchmaking"
    return Request({"type": "http", "headers": raw, "path": path})


@pytest.mark.parametrize("target", ["", "GameLift", "Other.StopMatchmaking"])
def test_target_of_another_service_is_refused(target: str) -> None:
    with pytest.raises(ServiceError, match="no operation"):
        JSON.operation_of(request_of(x_amz_target=target))


def test_operation_stands_in_a_header_or_in_the_path() -> None:
    with pytest.raises(ServiceError, match="send the header"):
        JSON.operation_of(request_of())
    told = request_of(x_amz_target="GameLift.StopMatchmaking")
    assert JSON.operation_of(told) == "StopMatchmaking"
    with pytest.raises(ServiceError, match="Smithy-Protocol"):
        CBOR.operation_of(request_of())
    assert CBOR.operation_of(request_of(smithy_protocol="rpc-v2-cbor")) == "StopMatchmaking"
    assert codec_of("/") is JSON
    assert codec_of("/service/GameLift/operation/StopMatchmaking") is CBOR


@pytest.mark.parametrize(
    ("body", "name", "said"),
    [
        ("ff", "SerializationException", "CBOR"),
        ("83010203", "SerializationException", "a map"),
        ("a1685469636b65744964" + "81" * 50 + "01", "SerializationException", "deeper"),
        ("a1685469636b6574496401", "InvalidRequestException", "TicketId: "),
        ("", "InvalidRequestException", "TicketId"),
        ("a1685469636b65744964f6", "InvalidRequestException", "TicketId"),
    ],
)
def test_wrong_body_of_cbor_is_refused_with_its_place(body: str, name: str, said: str) -> None:
    with pytest.raises(ServiceError) as caught:
        CBOR.decode(bytes.fromhex(body), shapes.StopMatchmaking)
    assert (caught.value.name, caught.value.status) == (name, 400)
    assert said in caught.value.message


def test_instants_are_marked_in_cbor() -> None:
    ticket = shapes.MatchmakingTicket(
        ticket_id="t",
        configuration_name="c",
        configuration_arn="a",
        status="QUEUED",
        start_time=1.5,
    )
    body = CBOR.encode(shapes.TicketAnswer(matchmaking_ticket=ticket))
    assert bytes.fromhex("c1fb3ff8000000000000") in body
    assert cbor.decode(body)["MatchmakingTicket"]["StartTime"] == 1.5


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
    answer = JSON.refusal(found)
    told = msgspec.json.decode(bytes(answer.body))
    assert (told["__type"], answer.headers["x-amzn-errortype"]) == (name, name)
    assert ("retry-after" in answer.headers) == (status == 503)
    answer = CBOR.refusal(found)
    assert cbor.decode(bytes(answer.body))["__type"] == f"com.amazonaws.gamelift#{name}"
    assert answer.headers["smithy-protocol"] == "rpc-v2-cbor"


@pytest.mark.parametrize("form", [JSON, CBOR], ids=["json", "cbor"])
def test_both_forms_say_the_same(form: Codec) -> None:
    player = shapes.PlayerShape(
        player_id="p", player_attributes={"m": shapes.AttributeValue(sdm={"a": 1.5})}
    )
    given = shapes.StartMatchmaking(configuration_name="c", players=(player,))
    assert form.decode(form.encode(given), shapes.StartMatchmaking) == given

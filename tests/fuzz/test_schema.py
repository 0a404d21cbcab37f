"""Every operation of the OpenAPI document, with requests that fit it and requests that do not.

`make fuzz` sends 20,000 and more; `make test` a few of each kind. What must hold of every answer:
no failure, a status that the document promises, the content type and the schema that go with it.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis import GenerationMode, Response
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from evenmatch.server.gamelift import cbor
from evenmatch.server.http.operation import WEBSOCKET
from evenmatch.server.http.table import OPERATIONS as ROWS
from evenmatch.server.http.table import openapi_document
from tests.fuzz.fitting import fit
from tests.fuzz.world import World

EXAMPLES = int(os.environ.get("EVENMATCH_FUZZ", "2"))
"""Requests of each operation and kind."""
WORLDS = ["with keys"] + ["without keys"] * ("EVENMATCH_FUZZ" in os.environ)
SEED = 20261122
ANEW_EVERY = 400
CHECKS = [
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


@schemathesis.serializer("application/x-amz-json-1.1")
def as_json(context: Any, value: Any) -> bytes:
    """Write a body as AWS's clients do: it is JSON by another name."""
    del context
    return value if isinstance(value, bytes) else json.dumps(value).encode()


@schemathesis.serializer("application/cbor")
def as_cbor(context: Any, value: Any) -> bytes:
    """Write a drawn text as the bytes that it stands for, or as a call of CBOR."""
    del context
    return value if isinstance(value, bytes) else cbor.encode({"TicketIds": [str(value)]})


SCHEMA: Any = schemathesis.openapi.from_dict(openapi_document())
OPERATIONS = {each.label: each for each in (one.ok() for one in SCHEMA.get_all_operations())}


class Fuzzer:
    """Sends cases to a world, and counts what came back."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.rng = random.Random(SEED)
        self.seen: Counter[tuple[str, int]] = Counter()
        self._sent = 0

    def send(self, case: Any) -> None:
        """Send one case, and judge the answer."""
        self._sent += 1
        if self._sent % ANEW_EVERY == 0:
            self.world.end()
            self.world.begin()
        fit(case, self.rng, self.world)
        given = case.as_transport_kwargs(base_url="http://127.0.0.1")
        given.pop("cookies", None)
        given["headers"] = {
            name: value
            for name, value in given["headers"].items()
            if name.lower() not in {"host", "user-agent", "authorization"}
        }
        allowed = {name: given[name] for name in given if name not in {"timeout", "verify"}}
        request = requests.Request(**allowed).prepare()
        target = (request.url or "").removeprefix("http://127.0.0.1")
        headers = {k: v for k, v in request.headers.items() if isinstance(v, str)}
        if credential := self.rng.choice(self.world.credentials) if self.world.keyed else "":
            headers["authorization"] = f"Bearer {credential}"
        body = request.body.encode() if isinstance(request.body, str) else request.body or b""
        reply = self.world.call(request.method or "", target or "/", headers, body)
        label = case.operation.label
        self.seen[label, reply.status] += 1
        told = f"{request.method} {target} {body[:300]!r} -> {reply.status} {reply.body[:300]!r}"
        assert reply.status, f"no answer: {told}"
        promised = case.operation.responses.status_codes
        is_failure = reply.status >= 500 and str(reply.status) not in promised
        assert not is_failure, f"the server failed: {told}"
        if "text/event-stream" in reply.headers.get("content-type", [""])[0]:
            assert "200" in promised, told
            return
        answer = Response(reply.status, reply.headers, reply.body, request, 0.0, verify=False)
        case.validate_response(answer, checks=CHECKS)


@pytest.fixture(scope="module", params=WORLDS)
def fuzzer(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Iterator[Fuzzer]:
    folder: Path = tmp_path_factory.mktemp("fuzz")
    world = World(folder, keyed=request.param == "with keys")
    found = Fuzzer(world)
    yield found
    world.close()
    counts = Counter[int]()
    for (_, status), count in found.seen.items():
        counts[status] += count
    if "EVENMATCH_FUZZ_BY" in os.environ:
        for (label, status), count in sorted(found.seen.items()):
            print(f"{label} {status}: {count}")
    print(f"\n{request.param}: {sum(counts.values()):,} requests, {dict(sorted(counts.items()))}")


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("label", OPERATIONS)
def test_operation_answers_as_the_document_says(
    fuzzer: Fuzzer, label: str, mode: GenerationMode
) -> None:
    operation = OPERATIONS[label]
    if mode is GenerationMode.NEGATIVE and not (
        operation.query or operation.headers or operation.body
    ):
        pytest.skip("every text is an id, and nothing else can be wrong")

    @seed(SEED)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def answers(case: Any) -> None:
        fuzzer.send(case)

    answers()


def test_document_lists_every_operation() -> None:
    listed = {tuple(label.split(" ", 1)) for label in OPERATIONS}
    assert {(row.method, row.path) for row in ROWS if row.method != WEBSOCKET} == listed

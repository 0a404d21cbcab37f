"""The API page: all of it from here, and every operation and field of its document described."""

import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from evenmatch.errors import Refusal
from evenmatch.server.api_page.routes import CONTENT_POLICY, PACKAGE
from evenmatch.server.http.openapi.document import TAGS
from evenmatch.server.http.openapi.fields import error_codes
from evenmatch.server.http.pages import files_of
from evenmatch.server.http.table import openapi_document
from tests.callers import Site, with_site

DOCUMENT = openapi_document()
SCHEMAS = DOCUMENT["components"]["schemas"]
OPERATIONS = {
    operation["operationId"]: operation
    for item in DOCUMENT["paths"].values()
    for key, operation in item.items()
    if key != "parameters"
}
FILES = {"getPage", "getPageFile", "getApiPage", "getApiPageFile", "getDocument"}
"""Operations that answer with files; an example of these says nothing."""

SAME = {("getQueueMatches", "text/event-stream"), ("putConfig", "text/plain")}
"""What is shown in another type already."""


def is_right(value: Any, schema: Any) -> None:
    whole = {"components": DOCUMENT["components"], **schema}
    jsonschema.Draft202012Validator(whole).validate(value)


def contents(operation: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield what an operation takes and answers, its types and their contents."""
    bodies = {"request": operation.get("requestBody", {}), **operation["responses"]}
    for name, body in bodies.items():
        for media, content in body.get("content", {}).items():
            yield name, media, content


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_every_field_says_what_it_means(name: str) -> None:
    assert SCHEMAS[name]["description"]
    for key, each in SCHEMAS[name].get("properties", {}).items():
        assert each.get("description"), key


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_every_operation_has_a_group_and_a_sentence(name: str) -> None:
    assert OPERATIONS[name]["tags"][0] in TAGS
    assert OPERATIONS[name]["summary"]


def test_every_group_has_operations() -> None:
    assert {each["tags"][0] for each in OPERATIONS.values()} == set(TAGS)


@pytest.mark.parametrize("name", sorted(OPERATIONS.keys() - FILES))
def test_every_request_and_answer_has_an_example_that_fits(name: str) -> None:
    for where, media, content in contents(OPERATIONS[name]):
        if (name, media) in SAME:
            continue
        assert content.get("examples"), (where, media)
        for example in content["examples"].values():
            is_right(example["value"], content["schema"])


def test_examples_do_not_fit_what_they_are_not() -> None:
    created = OPERATIONS["createTickets"]["responses"]["201"]["content"]["application/json"]
    value = next(iter(created["examples"].values()))["value"]
    is_right(value, created["schema"])
    with pytest.raises(jsonschema.ValidationError):
        is_right({**value, "state": "happy"}, created["schema"])
    with pytest.raises(jsonschema.ValidationError):
        is_right({**value, "enqueued_at": "soon"}, created["schema"])


def test_every_parameter_says_what_it_means() -> None:
    for path, item in DOCUMENT["paths"].items():
        for key, each in item.items():
            for parameter in each if key == "parameters" else each.get("parameters", []):
                assert parameter.get("description"), (path, key, parameter["name"])


def codes_below(kind: type[Refusal]) -> set[str]:
    return {kind.code}.union(*(codes_below(each) for each in kind.__subclasses__()))


def test_every_code_of_a_refusal_is_listed() -> None:
    ours = {code for code in codes_below(Refusal) if code != Refusal.code}
    assert ours <= {*error_codes()}
    assert SCHEMAS["Problem"]["properties"]["error"]["enum"] == error_codes()


def test_states_are_listed() -> None:
    assert SCHEMAS["TicketState"]["properties"]["state"]["enum"] == [
        "waiting", "proposed", "matched", "assigned", "cancelled", "expired",
    ]  # fmt: skip


def test_page_asks_nobody_else_for_anything() -> None:
    page = files_of(PACKAGE)["index.html"].body.decode()
    asked = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert len(asked) > 5
    assert not [each for each in asked if "//" in each or each.startswith("/")]
    assert "<style" not in page
    assert not re.search(r"<script(?! src)", page)
    assert "http" not in CONTENT_POLICY
    assert "//" not in files_of(PACKAGE)["page.js"].body.decode().replace("// The document", "")


def test_licence_of_the_renderer_comes_with_it() -> None:
    text = files_of(PACKAGE)["swagger-ui.LICENSE.txt"].body.decode()
    assert "Apache License" in text
    assert "SmartBear" in text


def test_page_and_its_files_are_served(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        page = await site.call("GET", "/docs")
        assert page.status == 200
        assert page.headers["content-type"].startswith("text/html")
        assert page.headers["content-security-policy"] == CONTENT_POLICY
        for name in files_of(PACKAGE):
            assert (await site.call("GET", f"/docs/{name}")).status == 200
        assert (await site.call("GET", "/docs/routes.py")).status == 404
        tag = {"if-none-match": page.headers["etag"]}
        assert (await site.call("GET", "/docs", headers=tag)).status == 304

    with_site(tmp_path, scene)


def test_renderer_is_sent_compressed_to_those_who_take_it(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        accept = {"accept-encoding": "gzip, br"}
        small = await site.call("GET", "/docs/swagger-ui.js", headers=accept)
        plain = await site.call("GET", "/docs/swagger-ui.js")
        assert small.headers["content-encoding"] == "gzip"
        assert "content-encoding" not in plain.headers
        assert gzip.decompress(small.body) == plain.body
        assert len(small.body) < len(plain.body) / 3

    with_site(tmp_path, scene)

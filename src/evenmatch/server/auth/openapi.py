"""How the OpenAPI document tells of keys and tokens: from the table of rights, and nothing else."""

from __future__ import annotations

from typing import Any

import msgspec

from evenmatch.server.auth.accounts import GuestToken
from evenmatch.server.auth.audit import PAGE_MAX, AuditPage
from evenmatch.server.auth.principal import ANYONE, OWN
from evenmatch.server.auth.rights import line_of

_Json = dict[str, Any]

SCHEMES: _Json = {
    "serviceKey": {
        "type": "http",
        "scheme": "bearer",
        "description": "A key of the game's own servers, made by `evenmatch keys add`.",
    },
    "playerToken": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "A player's token, signed by the game's login or given to a guest; they see "
        "their own tickets and matches only.",
    },
}
METHODS = ("get", "post", "put", "patch", "delete")
TYPES = (GuestToken, AuditPage)


def account_paths() -> _Json:
    """Return the operations of guests and of the audit log."""
    guest = {"content": {"application/json": {"schema": _ref(GuestToken)}}}
    page = {"content": {"application/json": {"schema": _ref(AuditPage)}}}
    whole = {"type": "integer", "minimum": 0}
    return {
        "/v1/guests": {
            "post": {
                "operationId": "makeGuest",
                "summary": "Give a device a player's token, where the server takes guests",
                "responses": {"201": {"description": "", **guest}},
            }
        },
        "/v1/audit": {
            "get": {
                "operationId": "getAudit",
                "summary": "Who did what when",
                "parameters": [
                    {"name": "after", "in": "query", "schema": whole,
                     "description": "`next` of the page before; left out: the last entries."},
                    {"name": "most", "in": "query",
                     "schema": {"type": "integer", "minimum": 1, "maximum": PAGE_MAX},
                     "description": "Entries of a page."},
                ],
                "responses": {"200": {"description": "", **page}},
            }
        },
    }  # fmt: skip


def with_security(paths: _Json, problem: _Json) -> _Json:
    """Return operations with who may use them, and with the answers to those who may not.

    Args:
        paths: The operations by path and method.
        problem: The answer that tells of an error.
    """
    return {
        path: {
            key: _secured(each, path, key, problem) if key in METHODS else each
            for key, each in item.items()
        }
        for path, item in paths.items()
    }


def _secured(operation: _Json, path: str, method: str, problem: _Json) -> _Json:
    rights = line_of(method.upper(), path).rights
    needed = sorted(rights - {OWN, ANYONE})
    schemes: list[_Json] = []
    if needed:
        schemes.append({"serviceKey": []})
    if OWN in rights:
        schemes.append({"playerToken": []})
    if ANYONE in rights:
        schemes = [{}]
    refused = {status: {**problem, "description": text} for status, text in (
        ("401", "No key or token that is valid here"),
        ("403", f"Not allowed; a key needs the right {' or '.join(needed)}" if needed
         else "Not allowed"),
        ("429", "Too many requests; Retry-After says when to come again"),
    )}  # fmt: skip
    responses = {**refused, **operation["responses"]}
    more = {"security": schemes, "x-rights": sorted(rights)}
    return {**operation, **more, "responses": dict(sorted(responses.items()))}


def _ref(shape: type[msgspec.Struct]) -> _Json:
    return {"$ref": f"#/components/schemas/{shape.__name__}"}

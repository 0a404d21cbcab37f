"""Write the TypeScript client from the server's OpenAPI document: `make client-ts`.

A method for each operation, named as the operation is, and an interface for each schema. The code
is plain JavaScript with types beside it, so that browsers and Node take it as it is and TypeScript
knows all of it; what it runs on is `runtime.js`, which is written by hand.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evenmatch.server.http.table import openapi_document

FOLDER = Path(__file__).parent
HEAD = "// Written by `make client-ts` from the server's OpenAPI document; change that instead."
EVENTS = {"followTicket": "TicketState"}
"""What the data of server-sent events are, by operation; those of others are not described."""
STREAM = "text/event-stream"
ONCE = {"makeGuest"}
"""Operations that would do something else the second time."""
VERSION = "if_version"
"""A parameter by which an operation does something only once, and is refused the second time."""
LEFT_OUT = {"streamTickets", "getDocument", "gameLift", "gameLiftCbor"} | {
    "getPage", "getPageFile", "getApiPage", "getApiPageFile",
}  # fmt: skip
"""The WebSocket, since `stream` is written by hand, and what programs have no use for."""
WORDS = {"string": "string", "number": "number", "integer": "number", "boolean": "boolean"}

Json = dict[str, Any]


def main() -> None:
    """Write both files, or with --check say whether they are as they would be written."""
    code, types = generated(openapi_document())
    files = {FOLDER / "evenmatch.js": code, FOLDER / "evenmatch.d.ts": types}
    if "--check" in sys.argv:
        stale = [path.name for path, text in files.items() if path.read_text() != text]
        if stale:
            sys.exit(f"{' and '.join(stale)} differ from the OpenAPI document: make client-ts")
        return
    for path, text in files.items():
        path.write_text(text)


def generated(document: Json) -> tuple[str, str]:
    """Return the client's code and its types."""
    operations = list(operations_of(document))
    code = [HEAD, "", 'import { Connection, newKey } from "./runtime.js";', ""]
    code += ['export { Connection, ServerRefused } from "./runtime.js";', ""]
    code += ["const id = encodeURIComponent;", "", "export class Evenmatch extends Connection {"]
    code += ["\n\n".join(method_of(each) for each in operations), "}", ""]
    names = "Connection, type CallOptions, type StreamOptions"
    types = [HEAD, "", f'import {{ {names} }} from "./runtime.js";', ""]
    types += ['export { Connection, ServerRefused } from "./runtime.js";', ""]
    for name, schema in document["components"]["schemas"].items():
        types += [interface_of(name, schema), ""]
    types += ["export class Evenmatch extends Connection {"]
    types += ["\n".join(declaration_of(each) for each in operations), STREAM_TYPE, "}", ""]
    return "\n".join(code), "\n".join(types)


STREAM_TYPE = """\
  /** Many tickets over one WebSocket; survives lost connections, misses and repeats nothing. */
  stream(
    tickets: Iterable<string>,
    options?: StreamOptions,
  ): AsyncGenerator<StreamEvent | StreamProblem, void, undefined>;"""


class Operation:
    """One operation, as its method needs it."""

    def __init__(self, method: str, path: str, described: Json) -> None:
        self.method = method.upper()
        self.path = path
        self.name: str = described["operationId"]
        self.summary: str = described["summary"]
        self.places: list[str] = re.findall(r"{(\w+)}", path)
        parameters = described.get("parameters", [])
        self.query: list[Json] = [each for each in parameters if each["in"] == "query"]
        self.has_key = any(each["name"] == "Idempotency-Key" for each in parameters)
        content = described.get("requestBody", {}).get("content", {})
        self.body = content.get("application/json", {}).get("schema")
        self.answers = answers_of(described["responses"])
        good = [each for status, each in described["responses"].items() if status[0] == "2"]
        self.is_stream = any(list(each.get("content", {})) == [STREAM] for each in good)

    @property
    def pattern(self) -> str:
        """Return the path as a template of JavaScript."""
        return re.sub(r"{(\w+)}", r"${id(\1)}", self.path)


def operations_of(document: Json) -> Iterator[Operation]:
    """Yield the operations in the order of the document."""
    for path, methods in document["paths"].items():
        for method, described in methods.items():
            if method != "parameters" and described["operationId"] not in LEFT_OUT:
                yield Operation(method, path, described)


def method_of(operation: Operation) -> str:
    """Return an operation's method."""
    if operation.is_stream:
        places = ", ".join([*operation.places, "options"])
        return (
            f"  {operation.name}({places}) {{\n"
            f"    return this.events(`{operation.pattern}`, options);\n"
            f"  }}"
        )
    given = list(operation.places)
    more = ["...options"]
    if operation.body is not None:
        given.append("body")
        more.append("body")
    names = [each["name"] for each in operation.query]
    if names:
        given.append("query = {}")
        more.append("query")
    if operation.has_key:
        given.append("{ key = newKey(), ...options } = {}")
        more.append("key")
    else:
        given.append("options")
    if operation.name in ONCE:
        more.append("mayRepeat: false")
    elif VERSION in names:
        more.append(f"mayRepeat: query.{VERSION} === undefined")
    options = "options" if len(more) == 1 else f"{{ {', '.join(more)} }}"
    path = f"`{operation.pattern}`" if operation.places else f'"{operation.path}"'
    return (
        f"  {operation.name}({', '.join(given)}) {{\n"
        f'    return this.request("{operation.method}", {path}, {options});\n'
        f"  }}"
    )


def declaration_of(operation: Operation) -> str:
    """Return the type of an operation's method."""
    heading = f"  /** {operation.summary.rstrip('?.')}. */"
    places = [f"{place}: string" for place in operation.places]
    if operation.is_stream:
        given = ", ".join([*places, "options?: StreamOptions"])
        kind = f"AsyncGenerator<{EVENTS.get(operation.name, 'unknown')}, void, undefined>"
        return f"{heading}\n  {operation.name}({given}): {kind};"
    more = []
    if operation.query:
        fields = [f"{each['name']}?: {type_of(each['schema'])}" for each in operation.query]
        more.append(f"query?: {{ {'; '.join(fields)} }}")
    more.append(f"options?: CallOptions{' & { key?: string }' if operation.has_key else ''}")
    lines = [heading]
    for body, answer in pairs_of(operation):
        given = ", ".join([*places, *([f"body: {body}"] if body else []), *more])
        lines.append(f"  {operation.name}({given}): Promise<{answer}>;")
    return "\n".join(lines)


def pairs_of(operation: Operation) -> Iterator[tuple[str, str]]:
    """Yield what may be sent with what comes back: an array is answered by an array."""
    if operation.body is None:
        yield "", " | ".join(operation.answers)
        return
    bodies = [type_of(each) for each in operation.body.get("anyOf", [operation.body])]
    for body in bodies:
        is_many = body.startswith("Array<")
        fitting = [each for each in operation.answers if each.startswith("Array<") == is_many]
        yield body, " | ".join(fitting or operation.answers)


def answers_of(responses: Json) -> list[str]:
    """Return the types of an operation's good answers."""
    kinds: dict[str, None] = {}
    for status, response in responses.items():
        if status.startswith("2"):
            schema = response.get("content", {}).get("application/json", {}).get("schema")
            some = [{"type": "string"}] if schema is None else schema.get("anyOf", [schema])
            kinds.update(dict.fromkeys(type_of(each) for each in some))
    return list(kinds)


def interface_of(name: str, schema: Json) -> str:
    """Return a schema as an interface."""
    lines = [f"/** {_first(schema.get('description', name))} */", f"export interface {name} {{"]
    required = set(schema.get("required", ()))
    for key, value in schema.get("properties", {}).items():
        mark = "" if key in required else "?"
        lines.append(f"  {key}{mark}: {type_of(value)};")
    return "\n".join([*lines, "}"])


def type_of(schema: Json) -> str:
    """Return a schema as a type."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema:
        return " | ".join(f'"{each}"' for each in schema["enum"])
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(type_of(each) for each in schema["anyOf"]))
    kind = schema.get("type")
    if kind == "null":
        return "null"
    if kind == "array":
        inner = type_of(schema["items"]) if "items" in schema else "unknown"
        return f"Array<{inner}>"
    if kind == "object":
        inner = schema.get("additionalProperties")
        return f"Record<string, {type_of(inner) if isinstance(inner, dict) else 'unknown'}>"
    return WORDS.get(str(kind), "unknown")


def _first(text: str) -> str:
    """Return the first paragraph of a description on one line."""
    return " ".join(text.partition("\n\n")[0].split())


if __name__ == "__main__":
    main()

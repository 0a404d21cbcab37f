"""Write the generated pages of docs/reference: `make docs`; with --check, only say what is stale.

Each page is made from what the program itself knows: the help texts of its commands, docstrings of
policies and public names, the OpenAPI document, the tree of errors, the shapes of the TOML tables.
A thing without a description stops the build, so that nothing is left undocumented.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import sys
from contextlib import redirect_stdout
from io import StringIO
from itertools import starmap
from pathlib import Path
from typing import Any, get_args

import figures
import msgspec

import evenmatch
from evenmatch import errors, testing
from evenmatch.cli.main import main as run_command
from evenmatch.client import client
from evenmatch.config import shapes
from evenmatch.criteria.registry import CRITERION_KINDS, RULE_KINDS
from evenmatch.model import queue as accept_model
from evenmatch.model import queue as queue_model
from evenmatch.model import queue as switchback_model
from evenmatch.model import scenario as scenario_model
from evenmatch.model import world as world_model
from evenmatch.policies.registry import POLICIES, policy_class

REFERENCE = Path(__file__).parent / "reference"
NOTE = "<!-- Written by `make docs`; do not edit. -->"
SECTION = re.compile(
    r"^(When to use|Args|Source|Complexity|Returns|Raises|Example|Yields|Differs from the paper):$",
    re.M,
)

CLIENT = ("AsyncClient", "Client")

FIGURES = (
    "Each figure shows 800 players who come one in two seconds, with ratings around 1500 +- 300 "
    "and 300 s of patience, under the policy as its name alone chooses it.\n"
    "A point on the left is a match; on the right are all policies and the best that was "
    "possible, by how long players waited and how far apart they were."
)
SHOWN = {"lookahead": "lookahead:horizon=60"}
"""SPECs of the figures, where the name alone shows little."""


def main(arguments: list[str]) -> int:
    is_check = arguments == ["--check"]
    stale = []
    for name, page in PAGES.items():
        path, fresh = REFERENCE / name, page()
        if not path.exists() or path.read_text(encoding="utf-8") != fresh:
            stale.append(name)
            if not is_check:
                path.parent.mkdir(exist_ok=True)
                path.write_text(fresh, encoding="utf-8")
    missing = [f"policies/{name}.svg" for name in POLICIES
               if not (REFERENCE / "policies" / f"{name}.svg").exists()]  # fmt: skip
    undrawn = figures.missing()
    if is_check:
        stale += [*missing, *(f"../howto/{name}" for name in undrawn)]
    elif stale or missing or undrawn:
        figures.draw()
        for name, figure in policy_figures().items():
            (REFERENCE / name).parent.mkdir(exist_ok=True)
            (REFERENCE / name).write_text(figure, encoding="utf-8")
    for name in stale:
        verb = "is out of date: run make docs" if is_check else "was written"
        print(f"docs/reference/{name} {verb}")
    return 1 if stale and is_check else 0


# Pages


def cli_page() -> str:
    """Return the help of all commands."""
    lines = _head("Command line", "What `--help` says, command by command.")
    lines += [_help([]), ""]
    for name in commands():
        lines += [f"## evenmatch {name}", "", _help([name]), ""]
    lines += [
        "## Exit codes",
        "",
        "0 means success, 1 a failure, 2 bad input, 130 an interrupt.",
        "What went wrong, and what to change, is one sentence on standard error.",
        "With `--json` standard output holds one JSON object and nothing else.",
    ]
    return _page(lines)


def policies_page() -> str:
    """Return what the docstrings of all policies say."""
    lines = _head("Policies", "A policy decides who plays whom; a SPEC names it.")
    lines += [
        "A SPEC is `name` or `name:key=value,key=value`.",
        "A list is joined by `+`, a pair by `-`: `window:limit=150,steps=60-250+120-350`.",
        "A name with a dot is imported: `my_policies.neighbours` is `neighbours` of `my_policies`.",
        "[Write a policy](../howto/write-a-policy.md) shows how.",
        "",
        FIGURES,
        "",
    ]
    for name in sorted(POLICIES):
        kind = policy_class(name)
        doc = sections(kind)
        lines += [f"## {name}", "", _sentences(doc["summary"]), ""]
        lines += ["**When to use it.**", _sentences(_required(doc, "when to use", name)), ""]
        lines += _parameters(kind, doc["args"])
        lines += [f"![Matches under {name}, and all policies](policies/{name}.svg)", ""]
        lines += ["**Complexity.**", _sentences(doc["complexity"]), ""]
        lines += ["**Source.**", _sentences(doc["source"]), ""]
        if doc["differs from the paper"]:
            lines += ["**Differs from the paper.**", _sentences(doc["differs from the paper"]), ""]
    return _page(lines)


def _required(doc: dict[str, Any], section: str, name: str) -> str:
    if not doc[section]:
        raise SystemExit(f"{name} has no section {section!r} in its docstring")
    text: str = doc[section]
    return text


def policy_figures() -> dict[str, str]:
    """Return the figure of each policy as an SVG file, by the file's name."""
    from policy_plots import plot_policy, points_of

    from evenmatch.lab.report.plots import as_file

    points = points_of({name: SHOWN.get(name, name) for name in POLICIES})
    return {f"policies/{name}.svg": as_file(plot_policy(name, points)) for name in POLICIES}


def http_page() -> str:
    """Return the OpenAPI document as a page for people."""
    from evenmatch.server.http.table import openapi_document

    document = openapi_document()
    lines = _head("HTTP", _sentences(document["info"]["description"]))
    lines += [
        "The server shows the same at `/docs`, as a page to browse and to try things.",
        "For programs it is at `/openapi.json`.",
        "The examples were recorded from a server by `docs/http_examples.py`.",
        "Every error is `{error, message, where}`; see [Errors](errors.md).",
        "",
    ]
    for tag in document["tags"]:
        lines += [f"## {tag['name']}", "", _sentences(tag["description"]), ""]
        for path, item in document["paths"].items():
            shared = item.get("parameters", [])
            for method in ("get", "post", "put", "patch", "delete"):
                if method in item and tag["name"] in item[method]["tags"]:
                    lines += _operation(method, path, item[method], shared)
    lines += ["## Types", ""]
    for name, schema in sorted(document["components"]["schemas"].items()):
        lines += _schema(name, schema)
    return _page(lines)


def errors_page() -> str:
    """Return the tree of errors, with codes and HTTP statuses."""
    from evenmatch.server.auth.principal import Forbidden, TooManyRequests, Unauthenticated
    from evenmatch.server.http.app import CODES
    from evenmatch.server.http.responses import STATUS, BodyTooLarge, InvalidRequest

    tree = (errors.__doc__ or "").partition("\n\n")[2].rstrip()
    lines = _head("Errors", "Everything that evenmatch raises on purpose, and says over HTTP.")
    lines += ["```text", tree, "```", ""]
    lines += ["| error | also a | meaning |", "|---|---|---|"]
    for kind in error_types():
        lines.append(f"| `{kind.__name__}` | {_builtins(kind)} | {_first(kind)} |")
    lines += ["", "The client of a server adds two:", ""]
    for kind in (client.ServerRefused, client.ServerUnreachable):
        lines.append(f"- `evenmatch.client.client.{kind.__name__}`: {_first(kind)}")
    lines += ["", "## Over HTTP", "", "| code | status | meaning |", "|---|---|---|"]
    refusals = [kind for kind in error_types() if issubclass(kind, errors.Refusal)]
    callers = (Unauthenticated, Forbidden, TooManyRequests)
    for kind in [*refusals, InvalidRequest, BodyTooLarge, *callers]:
        if kind is not errors.Refusal:
            lines.append(f"| `{kind.code}` | {STATUS[kind.code]} | {_first(kind)} |")
    lines += [f"| `{code}` | {status} | {_HTTP_CODES[code]} |" for status, code in CODES.items()]
    lines += [f"| `{code}` | {status} | {text} |" for code, status, text in _OTHER_CODES]
    lines += ["", "Answers with 429 and 503 carry `Retry-After`."]
    return _page(lines)


def configuration_page() -> str:
    """Return the keys of the TOML files."""
    lines = _head("Configuration", "The keys of a scenario, and of a server's configuration.")
    lines += [
        "Both are one TOML format.",
        "A server leaves `[arrivals]` and `[attributes]` out; a simulation leaves `[server]` out.",
        "An unknown key is refused with a sentence that names it and lists what is allowed.",
        "Times are seconds, rates are per second.",
        "A default of \u2013 means that the key may be absent, **required** that it may not.",
        "",
    ]
    for title, shape, model in TABLES:
        lines += [f"## {title}", "", "| key | type | default | meaning |", "|---|---|---|---|"]
        meanings = _meanings(shape, model)
        for field in msgspec.structs.fields(shape):
            key = field.encode_name
            default = _default(field, shape, model)
            lines.append(f"| `{key}` | {_words(field.type)} | {default} | {_cell(meanings[key])} |")
        lines.append("")
        if shape.LATER_KEYS:
            later = ", ".join(f"`{key}`" for key in shape.LATER_KEYS)
            lines += [f"Reserved for a later version: {later}.", ""]
    return _page(lines)


def python_page() -> str:
    """Return the public names of the package, its client and its kit for tests."""
    lines = _head("Python", "The public names.")
    lines += ["`import evenmatch` is quick: each name is loaded when it is first used.", ""]
    for name in evenmatch.__all__:
        lines += _public("evenmatch", name, getattr(evenmatch, name))
    for name in testing.__all__:
        lines += _public("evenmatch.testing", name, getattr(testing, name))
    for name in CLIENT:
        value = getattr(client, name)
        lines += _public("evenmatch.client.client", name, value)
        methods = [each for each in vars(value).items() if inspect.isfunction(each[1])]
        public = [(key, each) for key, each in methods if not key.startswith("_")]
        for key, each in public:
            lines += [f"### {name}.{key}", "", "```text", _signature(key, each), "```", ""]
            lines += _described(sections(each))
    return _page(lines)


def _public(module: str, name: str, value: Any) -> list[str]:
    doc = sections(value)
    lines = [f"## {module}.{name}", "", f"*{_kind(value)} of `{value.__module__}`.*", ""]
    if _kind(value) in ("class", "function"):
        lines += ["```text", _signature(name, value), "```", ""]
    return lines + _described(doc)


def _described(doc: dict[str, Any]) -> list[str]:
    """Return what a docstring says, section by section."""
    lines = [_sentences(doc["summary"]), ""]
    if doc["args"]:
        lines += [_item(key, text) for key, text in doc["args"].items()] + [""]
    if doc["returns"]:
        lines += ["**Returns.**", _sentences(doc["returns"]), ""]
    if doc["raises"]:
        lines += ["**Raises.**", "", *starmap(_item, doc["raises"].items()), ""]
    return lines


PAGES = {
    "cli.md": cli_page,
    "policies.md": policies_page,
    "http.md": http_page,
    "errors.md": errors_page,
    "configuration.md": configuration_page,
    "python.md": python_page,
}

# What the sources say


def commands() -> list[str]:
    """Return the names of all commands."""
    from evenmatch.cli.main import COMMANDS

    return sorted(COMMANDS)


def error_types() -> list[type[errors.MatchmakingError]]:
    """Return the errors of the tree in the order of their definition."""
    kinds = [kind for kind in vars(errors).values() if inspect.isclass(kind)]
    return [kind for kind in kinds if issubclass(kind, errors.MatchmakingError)]


def sections(thing: Any) -> dict[str, Any]:
    """Return a Google-style docstring by section; `args` is a dict, the rest are texts."""
    text = inspect.getdoc(thing) or ""
    if not text:
        raise SystemExit(f"{thing} has no docstring")
    parts = SECTION.split(text)
    known = ("when to use", "args", "source", "complexity", "returns", "raises")
    found: dict[str, Any] = dict.fromkeys((*known, "differs from the paper"), "")
    paragraphs = parts[0].strip("\n").rstrip().split("\n\n")
    found["summary"] = "\n\n".join(map(_paragraph, paragraphs))
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        found[title.lower()] = _joined(inspect.cleandoc(body))
        if title in ("Args", "Raises"):
            entries = re.findall(r"^(\w+): (.*(?:\n +.*|\n$)*)", inspect.cleandoc(body), re.M)
            found[title.lower()] = {key: _joined(words) for key, words in entries}
    return found


def _builtins(kind: type) -> str:
    """Return the builtin errors that an error of ours refines."""
    refined = (ValueError, LookupError, RuntimeError)
    return ", ".join(each.__name__ for each in refined if issubclass(kind, each))


def _joined(text: str) -> str:
    return " ".join(text.split())


def _paragraph(text: str) -> str:
    if all(line.startswith("    ") for line in text.splitlines()):
        return f"```text\n{inspect.cleandoc(text)}\n```"
    if text.startswith("- "):
        return "\n".join(map(_joined, re.split(r"\n(?=- )", text)))
    return f"```pycon\n{text.strip()}\n```" if text.startswith(">>>") else _joined(text)


def _sentences(text: str) -> str:
    """Return text with one sentence a line."""
    return re.sub(r"(?<=[a-z0-9`)][.!?]) (?=[A-Z`])", "\n", text)


def _first(kind: type) -> str:
    return _cell(_summary(kind))


def _summary(thing: Any) -> str:
    summary: str = sections(thing)["summary"]
    return summary.partition("\n\n")[0]


def _parameters(kind: type[msgspec.Struct], args: dict[str, str]) -> list[str]:
    fields = msgspec.structs.fields(kind)
    if not fields:
        return ["It takes no parameters.", ""]
    lines = ["| parameter | default | meaning |", "|---|---|---|"]
    for field in fields:
        if field.name not in args:
            raise SystemExit(f"{kind.__name__}.{field.name} is not described under Args")
        default = _shown(field.default)
        lines.append(f"| `{field.name}` | {default} | {_cell(args[field.name])} |")
    return [*lines, ""]


def _kind(value: object) -> str:
    if getattr(value, "_is_protocol", False):
        return "protocol"
    if inspect.isclass(value):
        return "error" if issubclass(value, Exception) else "class"
    return "function"


def _signature(name: str, value: Any) -> str:
    found = inspect.signature(value)
    parameters = [
        parameter.replace(annotation=_Spoken.of(parameter.annotation))
        for parameter in found.parameters.values()
        if not parameter.name.startswith("_") and parameter.name != "self"
    ]
    result = inspect.Signature.empty if inspect.isclass(value) else found.return_annotation
    signature = inspect.Signature(parameters, return_annotation=_Spoken.of(result))
    text = re.sub(r"<function (\w+) at 0x\w+>", r"\1", str(signature))
    verb = "async " if inspect.iscoroutinefunction(value) else ""
    whole = f"{verb}{name}{text}"
    if len(whole) <= WIDTH or not parameters:
        return whole
    # One parameter a line, as the formatter would have it.
    flat = str(signature.replace(return_annotation=inspect.Signature.empty))
    inner = [f"    {each}," for each in _shown_parameters(parameters)]
    end = text.removeprefix(re.sub(r"<function (\w+) at 0x\w+>", r"\1", flat))
    return "\n".join([f"{verb}{name}(", *inner, f"){end}"])


def _shown_parameters(parameters: list[inspect.Parameter]) -> list[str]:
    found = []
    for parameter in parameters:
        is_first = not any(each.startswith("*") for each in found)
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and is_first:
            found.append("*")
        found.append(re.sub(r"<function (\w+) at 0x\w+>", r"\1", str(parameter)))
    return found


class _Spoken:
    """A type as a signature shows it: without modules and quotes."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    @classmethod
    def of(cls, annotation: Any) -> Any:
        if annotation is inspect.Parameter.empty:
            return annotation
        text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
        return cls(re.sub(r"\b[a-z_]\w*\.(?=[A-Za-z_])", "", text))


# Help texts


def _help(arguments: list[str]) -> str:
    # In this process: starting one for each command would take most of the time of all pages.
    os.environ.update(COLUMNS="90", NO_COLOR="1", TERM="dumb")
    with redirect_stdout(StringIO()) as out:
        code = run_command([*arguments, "--help"])
    if code:
        raise SystemExit(f"evenmatch {' '.join(arguments)} --help failed")
    text = "\n".join(line.rstrip() for line in out.getvalue().strip().splitlines())
    return f"```text\n{text}\n```"


# HTTP

WIDTH = 96
"""Characters of a line of JSON."""
WORDS_MOST = 20
"""Words that a field may hold, where they are listed with it."""
_HTTP_CODES = {
    "not_found": "There is nothing at this path.",
    "method_not_allowed": "The path does not take this method.",
}
_OTHER_CODES = (
    (
        "origin_not_allowed",
        403,
        "A web page may not call the server, or not so; the message names what is refused.",
    ),
    ("config_error", 400, "A configuration cannot be used as written."),
    ("upgrade_required", 426, "The stream is a WebSocket, and this was a plain request."),
    ("not_supported", 501, "The name is reserved, and this version cannot do it yet."),
    (
        "unavailable",
        503,
        "The journal did not take the record; the same request may succeed later.",
    ),
    ("internal", 500, "The server failed; its log says more."),
)


def _operation(method: str, path: str, operation: dict[str, Any], shared: list[Any]) -> list[str]:
    lines = [f"### {method.upper()} {path}", "", f"{operation['summary'].rstrip('?')}.", ""]
    parameters = [*shared, *operation.get("parameters", [])]
    if parameters:
        lines += ["| parameter | in | type | meaning |", "|---|---|---|---|"]
        for each in parameters:
            kind = each["schema"].get("type", "")
            lines.append(
                f"| `{each['name']}` | {each['in']} | {kind} | {each.get('description', '')} |"
            )
        lines.append("")
    if "requestBody" in operation:
        lines += [f"Takes {_content(operation['requestBody'])}.", ""]
        lines += _examples(operation["requestBody"])
    lines += _who(operation["x-rights"])
    refusals = []
    for status, answer in operation["responses"].items():
        if _content(answer) == "[Problem](#problem)":
            refusals += [status] if status not in ("401", "403", "429") else []
        else:
            lines += [f"Answers {status} with {_content(answer)}.", "", *_examples(answer)]
    if refusals:
        lines += [f"Refuses with {', '.join(refusals)} and a [Problem](#problem).", ""]
    return lines


def _examples(body: dict[str, Any]) -> list[str]:
    """Return the examples of what is sent or answered, as blocks."""
    lines = []
    for media, content in body.get("content", {}).items():
        kind = {"application/json": "json", "application/toml": "toml"}.get(media, "text")
        for name, example in content.get("examples", {}).items():
            value = example["value"]
            text = value if isinstance(value, str) and kind != "json" else _json(value)
            lines += [f"{name[0].upper()}{name[1:]}:", "", f"```{kind}", text.strip(), "```", ""]
    return lines


def _json(value: Any) -> str:
    """Return JSON that breaks its lines where a person would."""
    whole = json.dumps(value, ensure_ascii=False)
    if len(whole) <= WIDTH:
        return whole
    return _broken(value, 0)


def _broken(value: Any, depth: int) -> str:
    flat = json.dumps(value, ensure_ascii=False)
    if len(flat) + 2 * depth <= WIDTH or not isinstance(value, (dict, list)) or not value:
        return flat
    pad = "  " * (depth + 1)
    if isinstance(value, dict):
        inner = [f"{pad}{json.dumps(key)}: {_broken(each, depth + 1)}"
                 for key, each in value.items()]  # fmt: skip
    else:
        inner = [f"{pad}{_broken(each, depth + 1)}" for each in value]
    first, last = ("{", "}") if isinstance(value, dict) else ("[", "]")
    return "\n".join([first, ",\n".join(inner), "  " * depth + last])


def _who(rights: list[str]) -> list[str]:
    """Return who may use an operation, by its line in the table of rights."""
    if "anyone" in rights:
        return ["Anyone may use it.", ""]
    needed = " or ".join(f"`{right}`" for right in rights if right != "own")
    players = ", or the token of a player, for what is their own" if "own" in rights else ""
    return [f"Needs a key with the right {needed}{players}.", ""]


def _content(body: dict[str, Any]) -> str:
    content = body.get("content", {})
    texts = []
    for media, entry in content.items():
        kind = "" if media == "application/json" else f" ({media})"
        texts.append(f"{_type(entry['schema'])}{kind}")
    return " or ".join(texts) or "nothing"


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " or ".join(dict.fromkeys(_type(each) for each in schema[key]))
    if "enum" in schema:
        return "one of the [codes](errors.md)" if len(schema["enum"]) > WORDS_MOST else " or ".join(
            f"`{word}`" if word else "empty" for word in schema["enum"])  # fmt: skip
    kind = schema.get("type")
    if kind == "array":
        items = schema.get("items") or {}
        return f"list of {_type(items)}" if items else "list"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"map to {_type(schema['additionalProperties'])}"
    return str(kind or "any")


def _schema(name: str, schema: dict[str, Any]) -> list[str]:
    lines = [f"### {name}", "", _sentences(_joined(schema["description"])), ""]
    lines += ["| field | type | meaning |", "|---|---|---|"]
    required = schema.get("required", [])
    for key, each in schema.get("properties", {}).items():
        mark = "" if key in required else " (optional)"
        lines.append(f"| `{key}` | {_type(each)}{mark} | {_cell(each['description'])} |")
    return [*lines, ""]


# Configuration

_SAMPLE = {
    "file": "`percentile`: a CSV or Parquet file with the distribution, kept as 1,001 quantiles; "
    "`evenmatch:NAME` is a file that we ship.",
    "column": "`percentile`: the column of the file.",
    "last": "`percentile`, without file: the number of last accepted tickets whose values are the "
    "distribution, 1,000 unless given, at most 10,000.",
}
_OWN_WORDS: dict[str, dict[str, str]] = {
    "ScenarioShape": {
        "queue": "One table per queue; a file needs at least one.",
        "arrivals": "Who arrives when; absent if a recording is given on the command line.",
        "attributes": "How each player's attributes are drawn, by name.",
        "server": "The settings of a server.",
        "tenant": "Several games in one process; such a file has nothing else.",
        "answers": "How players answer ready-checks; by default all accept at once.",
        "solve_time": "Seconds until the result of a job arrives; `rounds` solves by jobs.",
    },
    "ServerShape": {
        "tokens": "What player tokens must look like; without it the server accepts none.",
        "limits": "How much the server takes before it refuses.",
        "keep_days": "Days for which the journal keeps tickets and matches that have ended; "
        "older records are deleted once snapshots cover them.",
    },
    "ConnectShape": {
        "open": "Share of players whom everybody can reach; if one of the three is given, the "
        "others are 0 unless given.",
    },
    "WorldShape": {
        "start": "Time of the day at time 0, in `zone`.",
        "zone": "The zone of `start`, without daylight saving: `UTC`, `CET`, `AEST` and others, or "
        "an offset such as `+10:00`.",
        "party_shares": "Share of the players in parties of 1, of 2 and so on; they sum to 1. "
        "Absent, they depend on the players per team of the first queue: `[0.6, 0.25, 0.15]` for "
        "three.",
        "roles": "Which roles players list: shares of lists, roles joined by `+` with the "
        'preferred one first, `any` = no list; they sum to 1: `{damage = 0.5, "tank+damage" = '
        "0.2, any = 0.3}`. A member of a party whose list does not go together with those of the "
        "members before them in one team draws again. Absent, nobody lists roles.",
        "home_share": "Share of a party's members who are certainly from its home region, 0.9 if "
        "absent; the others are from any region, in proportion to its share.",
    },
    "QueueShape": {
        "teams": "Number of teams; alone it means one player each. Without teams and players a "
        "match is one against one.",
        "players": "Seats per team, or a list for uneven teams: `[1, 4]`.",
        "sides": "Names of the teams in output order; a ticket may insist on one by its attribute "
        "`side`.",
        "side_choice": "What a ticket's `side` is: `insist`, no match puts it on another side; "
        "`prefer`, a wish that is granted if the match allows it; the summary then says how many "
        "players are `off_side`.",
        "players_min": "Fewest players of a team, or a list with one number per team; without it "
        "only full matches start.",
        "roles": "Seats of each role in every team, such as `{tank = 1, dps = 2}`; they sum to the "
        "players of a team.",
        "party_sizes": "Party sizes that may queue; without it all that fit into a team.",
        "backfill": "Whether running matches may be filled: `manual`, when the backend opens "
        "them, or `automatic`, as soon as a match starts that is not full; without it never. "
        "Newcomers to a running match skip the ready-check, even with `accept`.",
        "allocation": "Name of the `[server.allocation.NAME]` that finds its matches a server.",
        "silent_after": "Seconds without a heartbeat or an open stream after which a server "
        "drops a ticket; without it no heartbeat is needed.",
        "accept": "The ready-check, with the keys below; without it matches are final at once.",
        "commit_jitter": "Longest time in seconds for which a new ticket is held back, each for "
        "a random time of its own, so that two players who queue in the same second do not "
        "reliably meet; its deadline does not change.",
        "criteria": "Soft preferences; none means that only waiting counts.",
        "rules": "Hard constraints; a match that breaks one is never made.",
    },
    "CriterionShape": {
        "kind": "`spread`: largest minus smallest of all players; `mean_gap`: mean over all "
        "pairs; `imbalance`: largest difference between two teams; `rematch`: share of the pairs "
        "of players that met in their last `matches` matches, less the longer ago, and half if "
        "they were teammates then and opponents now, or the other way round; `latency`: mean "
        "cost of pings, see `pairs`; `party_parity`: difference of the teams' party sizes; "
        "`host_options`: 1, 0.4 and 0 for no, one and more players who reach everyone; `same`, "
        "`overlap`: share of the pairs that differ or have no element in common; `fullness`: "
        "free seats / (most - fewest players); `role_rank`: how far down their lists the "
        "players' roles stand.",
        "attribute": "The value that is compared: a number; for `latency` a map from region or "
        "player to milliseconds (default `latency`); for `host_options` a set of player ids, or "
        "`open`, `moderate` or `strict` (default `connect`); `rematch` and `party_parity` need "
        "none.",
        "scale": "From values or gaps to [0, 1]; only where numbers are compared.",
        "measure": "For `imbalance`: compare the teams' `mean` or `sum`.",
        "pairs": "For `latency`: `enemies` (default), `teammates` or `all` pairs of players, or "
        "`region`: all play in the region of least mean cost among those that rules allow when the "
        "match is made.",
        "best": "For `latency`: milliseconds that cost nothing (default 25).",
        "worst": "For `latency`: milliseconds that cost 1 (default 400); in between the logarithm "
        "counts.",
    },
    "RuleShape": {
        "kind": "The comparison, as for criteria, or `same`: all values are equal; `rematch`: "
        "opponents of the last `matches` matches may not meet again until they were drawn anew "
        "`redraws` times; `overlap`: there is an element that all have; `avoid`: nobody meets a "
        "player whom either lists; `pair_limit`: two players meet in so many matches at most "
        "within `within` seconds; `household_limit`: so many players of one household at most are "
        "in a match.",
        "attribute": "The value that is compared, as for criteria; for `avoid` a set of player ids "
        "(default `avoid`); for `household_limit` what its players share, or a set of such things "
        "(default `household`). `rematch` and `pair_limit` need none: the engine remembers; for "
        "the latter a ticket may bring `meetings`, a map from player id to matches.",
        "limit": "Largest gap accepted at once: for `latency` milliseconds of the worst pair, or "
        "of the player with the highest latency to the region; for `party_parity` the "
        "difference, 0 to 1; for `host_options` the hosts missing to two; for `pair_limit` "
        "matches, 1 to 20, and for `household_limit` players, 1 to 100. It does not go with "
        "`rematch`, `same`, `overlap` and `avoid`; `expand = {steps = [[60, 1]]}` lifts the last "
        "three after 60 s.",
        "pairs": "For `latency` as for criteria; for `avoid` and `pair_limit`: `all` (default), "
        "`enemies` or `teammates`. For `household_limit`: `all` counts its players in the match "
        "(default), `teammates` in each team, `enemies` in the match if they are not all in one "
        "team.",
        "within": "For `pair_limit`: seconds for which a match counts, 1 to 604800 (default 86400, "
        "a day).",
        "unit": "`difference` (points), `relative` (a fraction of one's own value) or "
        "`percentile` (a fraction of all players: 0.05 is five in a hundred).",
        "accept": "Whose limit must have reached the gap: that of `both` sides (of every ticket of "
        "the match), or of `either` (of one ticket).",
        **_SAMPLE,
        "redraws": "For `rematch`, required: how often a rematch is refused, 1 to 100, before it "
        "is allowed.",
        "every": "For `rematch`: seconds of waiting between two draws; the policy's own clock if "
        "it has one. Without it the draws divide the wait until `wait_max` evenly, or are 10 s "
        "apart without one.",
    },
    "ExpandShape": {
        "rate": "Growth per second; exactly one of `rate`, `steps` and `curve` is given.",
    },
    "ScaleShape": {
        "kind": "`linear` and `percentile` act on values; `capped` and `log` act on gaps; `none` "
        "is the raw gap and may exceed 1.",
        **_SAMPLE,
        "min": "`linear`: the value that counts as 0.",
        "max": "`linear`: the value that counts as 1; `capped`, `log`: the gap that costs 1.",
        "knee": "`log`: ln(1 + gap / knee) / ln(1 + max / knee).",
        "cap": "`log`: values above it count as equal to it.",
    },
    "DistributionShape": {
        "distribution": "`uniform` on [min, max]; `normal`, drawn again while outside [min, max]; "
        "`exponential`; `choice` among values; `empirical`: cells of a file's column.",
    },
}
_CRITERION = "[[queue.criteria]]"
TABLES: list[tuple[str, type[Any], type[Any]]] = [
    ("The file", shapes.ScenarioShape, scenario_model.Scenario),
    ("[[queue]]", shapes.QueueShape, queue_model.Queue),
    (_CRITERION, shapes.CriterionShape, queue_model.Criterion),
    ("scale = {...} of a criterion", shapes.ScaleShape, queue_model.Scale),
    ("[[queue.rules]]", shapes.RuleShape, queue_model.Rule),
    ("handicap = {...} of a queue", shapes.HandicapShape, queue_model.Handicap),
    ("accept = {...} of a queue", shapes.AcceptShape, accept_model.ReadyCheck),
    (
        "switchback = {...} of a queue",
        shapes.SwitchbackShape,
        switchback_model.Switchback,
    ),
    ("expand = {...} of a rule", shapes.ExpandShape, queue_model.Expansion),
    ("[arrivals]", shapes.ArrivalsShape, scenario_model.Arrivals),
    ("[[arrivals.classes]]", shapes.ClassShape, scenario_model.ArrivalClass),
    ("[arrivals.world]", shapes.WorldShape, world_model.World),
    ("connect = {...} of the world", shapes.ConnectShape, world_model.Connect),
    ("last_mile = {...} of the world", shapes.LastMileShape, world_model.LastMile),
    ("skill = {...} of the world", shapes.SkillShape, world_model.Skill),
    ("[attributes.NAME]", shapes.DistributionShape, scenario_model.Distribution),
    ("[answers]", shapes.AnswersShape, scenario_model.Answers),
    ("[outcomes]", shapes.OutcomesShape, scenario_model.OutcomeModel),
    ("[server]", shapes.ServerShape, scenario_model.ServerSettings),
    ("[server.tokens]", shapes.TokensShape, scenario_model.Tokens),
    ("[server.allocation.NAME]", shapes.AllocationShape, scenario_model.Allocation),
    ("[[tenant]]", shapes.TenantShape, scenario_model.Tenant),
    ("[server.limits]", shapes.LimitsShape, scenario_model.ServerLimits),
]
_REQUIRED = {"CriterionShape": ("attribute",), "RuleShape": ("attribute", "limit")}
"""Keys that the shape may lack, and the meaning may not."""
_ALLOWED: dict[str, dict[str, Any]] = {
    "QueueShape": {
        "on_deadline": queue_model.OnDeadline,
        "side_choice": queue_model.SideChoice,
        "backfill": queue_model.Backfill,
    },
    "CriterionShape": {"kind": CRITERION_KINDS},
    "TokensShape": {"algorithm": scenario_model.Algorithm},
    "AllocationShape": {
        "kind": scenario_model.HookKind,
        "failed": scenario_model.WhenFailed,
    },
    "RuleShape": {"kind": RULE_KINDS},
}
_MODEL_DEFAULTS = (
    shapes.CriterionShape,
    shapes.RuleShape,
    shapes.LimitsShape,
    shapes.ConnectShape,
    shapes.LastMileShape,
    shapes.SkillShape,
)
"""Shapes whose absent keys always get the default of the value that is built."""


def _meanings(shape: type[Any], model: type[Any]) -> dict[str, str]:
    said = {**(sections(model)["args"] or {}), **_OWN_WORDS.get(shape.__name__, {})}
    for key, allowed in _ALLOWED.get(shape.__name__, {}).items():
        said[key] += f" One of {', '.join(f'`{word}`' for word in get_args(allowed) or allowed)}."
    # In a file a key is absent; only Python knows None.
    said = {
        key: re.sub(r"\bNone (means|=|takes)", r"absent \1", text) for key, text in said.items()
    }
    for field in msgspec.structs.fields(shape):
        if field.encode_name not in said:
            raise SystemExit(f"key {field.encode_name} of {shape.__name__} is not described")
    return said


def _default(field: Any, shape: type[Any], model: type[Any]) -> str:
    if field.required or field.encode_name in _REQUIRED.get(shape.__name__, ()):
        return "**required**"
    value = field.default
    if value is msgspec.NODEFAULT:
        value = field.default_factory()
    if value is None and shape in _MODEL_DEFAULTS:
        known = {each.encode_name: each.default for each in msgspec.structs.fields(model)}
        value = known.get(field.encode_name)
    return _shown(value)


def _shown(value: object) -> str:
    if value is None or value in ((), {}) or isinstance(value, msgspec.Struct):
        return "\u2013"
    if isinstance(value, bool):
        return "`true`" if value else "`false`"
    if isinstance(value, int) and value >= 10_000:
        return f"`{value:_}`"
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"


def _words(kind: Any) -> str:
    """Return a field's type in words, from the descriptions in the shapes."""
    options = [each for each in getattr(kind, "__args__", ()) if each is not type(None)]
    for note in getattr(kind, "__metadata__", ()):
        return str(note.description)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return "a table"
    origin = getattr(kind, "__origin__", None)
    if origin is tuple:
        return "a list of tables"
    if origin is dict:
        return "a table of tables"
    return " or ".join(_words(each) for each in options)


# Markdown


def _head(title: str, sentence: str) -> list[str]:
    return [f"# {title}", "", NOTE, "", sentence, ""]


def _item(key: str, text: str) -> str:
    return f"- `{key}`: " + _sentences(text).replace("\n", "\n  ")


def _cell(text: str) -> str:
    return _joined(text).replace("|", "\\|")


def _page(lines: list[str]) -> str:
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

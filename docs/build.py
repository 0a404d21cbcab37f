"""Write the generated pages of docs/reference: `make docs`; with --check, only say what is stale.

Each page is made from what the program itself knows: the help texts of its commands, docstrings of
policies and public names, the OpenAPI document, the tree of errors, the types of the TOML tables.
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
import states

import evenmatch
from evenmatch import errors, testing
from evenmatch.cli.main import main as run_command
from evenmatch.client import client
from evenmatch.config import server, tables
from evenmatch.model import queue, scenario, world
from evenmatch.model.checks import keys_of, words_of
from evenmatch.policies.registry import POLICIES, policy_class

REFERENCE = Path(__file__).parent / "reference"
NOTE = "<!-- Written by `make docs`; do not edit. -->"
SECTION = re.compile(
    r"^(When to use|Args|Source|Complexity|Returns|Raises|Example|Yields|Differs from the paper):$",
    re.M,
)

CLIENT = ("AsyncClient", "Client")

FIGURES = (
    "Each figure shows how the policy, with its default parameters, matches 800 players.\n"
    "One arrives every two seconds on average; ratings are around 1500 +- 300, and `wait_max` is "
    "300 s.\n"
    "On the left, each point is a match.\n"
    "On the right are all policies and the best result possible, by how long players waited and "
    "how far apart they were."
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
    lines = _head("Command line", "What `--help` prints for each command.")
    lines += [_help([]), ""]
    for name in commands():
        lines += [f"## evenmatch {name}", "", _help([name]), ""]
    lines += [
        "## Exit codes",
        "",
        "0 means success, 1 a failure, 2 bad input and 130 that you interrupted the command.",
        "If something goes wrong, one sentence on standard error says what, and what to change.",
        "With `--json`, standard output holds one JSON object and nothing else.",
    ]
    return _page(lines)


def policies_page() -> str:
    """Return what the docstrings of all policies say."""
    lines = _head(
        "Policies",
        "A policy decides which waiting players make a match; you choose one by its SPEC.",
    )
    lines += [
        "A SPEC is `name`, or `name:key=value,key=value` to set parameters.",
        "Items of a list are joined by `+`, pairs by `-`: `window:limit=150,steps=60-250+120-350`.",
        "A name with a dot is yours: `my_policies.neighbours` is `neighbours` in `my_policies`.",
        "[Write a policy](../howto/write-a-policy.md) shows how to write one.",
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
        "The server shows the same at `/docs`, as a page on which you can browse and try requests.",
        "Programs find it at `/openapi.json`.",
        "`docs/http_examples.py` recorded the examples from a server.",
        "Every error has the fields `error`, `message` and `where`; see [Errors](errors.md).",
        (
            "Any request may be refused with 401 if there is no valid key or token, 403 if it is "
            "not allowed, and 429 if there are too many; below only further refusals are listed."
        ),
        "The header `Retry-After` of a 429 or 503 says after how many seconds to try again.",
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
    from evenmatch.server.http.responses import STATUS, BodyTooLarge, InvalidRequest

    tree = (errors.__doc__ or "").partition("\n\n")[2].rstrip()
    lines = _head(
        "Errors",
        "The errors that evenmatch raises on purpose, and the error codes of its HTTP interface.",
    )
    lines += ["```text", tree, "```", ""]
    lines += ["| error | also a | meaning |", "|---|---|---|"]
    for kind in error_types():
        lines.append(f"| `{kind.__name__}` | {_builtins(kind)} | {_first(kind)} |")
    lines += ["", "The client adds two:", ""]
    for kind in (client.ServerRefused, client.ServerUnreachable):
        lines.append(f"- `evenmatch.client.client.{kind.__name__}`: {_first(kind)}")
    lines += ["", "## Over HTTP", "", "| code | status | meaning |", "|---|---|---|"]
    refusals = [kind for kind in error_types() if issubclass(kind, errors.Refusal)]
    callers = (Unauthenticated, Forbidden, TooManyRequests)
    for kind in [*refusals, InvalidRequest, BodyTooLarge, *callers]:
        if kind is not errors.Refusal:
            lines.append(f"| `{kind.code}` | {STATUS[kind.code]} | {_first(kind)} |")
    lines += [f"| `{code}` | {status} | {text} |" for code, status, text in _OTHER_CODES]
    lines += ["", "Answers with 429 and 503 carry `Retry-After`."]
    return _page(lines)


def states_page() -> str:
    """Return the life of a ticket."""
    lines = _head(
        "States of a ticket",
        "The states that a ticket can be in, and the events that change them.",
    )
    lines += [
        "The engine checks this table before it changes the state of a ticket.",
        "A ticket ends only once.",
        "If its match is called off, the ticket waits again and keeps its earlier wait.",
        "Events have the names that they have in the journal.",
        "",
        "![Boxes show the states, arrows the events that lead from one to another](states.svg)",
        "",
    ]
    return _page([*lines, *states.states_table()])


def configuration_page() -> str:
    """Return the keys of the TOML files."""
    lines = _head("Configuration", "All keys of scenarios and of server configurations.")
    lines += [
        "Scenarios and server configurations are TOML files of one format.",
        "A server ignores `[arrivals]` and `[attributes]`; a simulation ignores `[server]`.",
        "If a file has an unknown key, the error names it and lists the keys that are allowed.",
        "Times are in seconds, rates per second.",
        "A default of \u2013 means that you can leave the key out, **required** that you cannot.",
        "",
    ]
    for title, *kinds in TABLES:
        lines += [f"## {title}", "", "| key | type | default | meaning |", "|---|---|---|---|"]
        if kinds[0].__struct_config__.tag_field:
            lines.append(_tag_row(kinds))
        lines += [
            row for kind in kinds for row in _key_rows(kind, is_one_of_several=len(kinds) > 1)
        ]
        lines.append("")
    return _page(lines)


def python_page() -> str:
    """Return the public names of the package, its client and its kit for tests."""
    lines = _head("Python", "The public names of the package, its client and its kit for tests.")
    lines += [
        "`import evenmatch` is fast, because each name is loaded only when it is first used.",
        "",
    ]
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
    "states.md": states_page,
    "states.svg": states.states_svg,
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
        return ["It has no parameters.", ""]
    lines = ["| parameter | type | default | meaning |", "|---|---|---|---|"]
    for field in fields:
        if field.name not in args:
            raise SystemExit(f"{kind.__name__}.{field.name} is not described under Args")
        default = _shown(field.default)
        cells = (f"`{field.name}`", words_of(field.type), default, _cell(args[field.name]))
        lines.append(f"| {' | '.join(cells)} |")
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
_OTHER_CODES = (
    ("not_found", 404, "The server has nothing at this path."),
    ("method_not_allowed", 405, "The path exists, but not for this method."),
    (
        "origin_not_allowed",
        403,
        "The server does not let this web page make the call; the message says why.",
    ),
    ("request_timeout", 408, "The body did not arrive in time; send the request again."),
    ("config_error", 400, "The configuration cannot be used as written; the message says why."),
    ("upgrade_required", 426, "The stream needs a WebSocket, and this was a plain request."),
    (
        "not_supported",
        501,
        "This version of the server does not have the feature, or it is switched off.",
    ),
    (
        "unavailable",
        503,
        "The server could not write to its journal; send the same request again later.",
    ),
    ("internal", 500, "The server has failed; its log says why."),
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
        lines += [f"It takes {_with_articles(_content(operation['requestBody']))}.", ""]
        lines += _examples(operation["requestBody"])
    lines += _who(operation["x-rights"])
    refusals = []
    for status, answer in operation["responses"].items():
        if _content(answer) == "[Problem](#problem)":
            refusals += [status] if status not in ("401", "403", "429") else []
        else:
            lines += [
                f"It answers {status} with {_with_articles(_content(answer))}.",
                "",
                *_examples(answer),
            ]
    if refusals:
        lines += [f"If it refuses, it answers {_listed(refusals)} with a [Problem](#problem).", ""]
    return lines


def _with_articles(content: str) -> str:
    """Return what a body may hold, as a sentence says it."""
    before, is_list, items = content.partition("list of ")
    parts = before.removesuffix(" or ").split(" or ") if before else []
    parts += [f"list of {items}"] if is_list else []
    return " or ".join(map(_with_article, parts))


def _with_article(part: str) -> str:
    if part.startswith(("nothing", "any ")):
        return part.replace("any ", "any content ")
    return f"{'an' if part.strip('[')[0] in 'AEIOUaeiou' else 'a'} {part}"


def _listed(words: list[str]) -> str:
    """Return words as a list in a sentence."""
    return " or ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)


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
        return ["It needs no key.", ""]
    needed = " or ".join(f"`{right}`" for right in rights if right != "own")
    players = ", or the token of a player whom it is about" if "own" in rights else ""
    return [f"It needs a key with the right {needed}{players}.", ""]


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

TABLES: list[tuple[Any, ...]] = [
    ("The file", tables.ScenarioTable),
    ("[[queue]]", tables.QueueTable),
    ("[[queue.criteria]]", tables.CriterionTable),
    ("scale = {...} of a criterion", *get_args(tables.ScaleTable)),
    ("[[queue.rules]]", tables.RuleTable),
    ("handicap = {...} of a queue", queue.Handicap),
    ("accept = {...} of a queue", queue.ReadyCheck),
    ("rules_readings = {...} of a queue", tables.ReadingsTable),
    ("switchback = {...} of a queue", queue.Switchback),
    ("expand = {...} of a rule", queue.Expansion),
    ("[arrivals]", tables.ArrivalsTable),
    ("[[arrivals.classes]]", scenario.ArrivalClass),
    ("[arrivals.world]", tables.WorldTable),
    ("connect = {...} of the world", tables.ConnectTable),
    ("last_mile = {...} of the world", world.LastMile),
    ("skill = {...} of the world", world.Skill),
    ("[attributes.NAME]", *get_args(scenario.Distribution)),
    ("[answers]", scenario.Answers),
    ("[outcomes]", scenario.OutcomeModel),
    ("[server]", server.ServerSettings),
    ("[server.tokens]", server.Tokens),
    ("[server.allocation.NAME]", server.Allocation),
    ("[server.notifications.NAME]", server.Notification),
    ("[[tenant]]", server.Tenant),
    ("[server.limits]", server.ServerLimits),
]
"""Each table of a file, and the types of its fields: several where one key says which of them."""
BUILT: dict[Any, type[Any]] = {
    tables.CriterionTable: queue.Criterion,
    tables.RuleTable: queue.Rule,
    tables.ConnectTable: world.Connect,
}
"""What a table becomes, where it does not extend it: the defaults of its keys stand there."""


def _tag_row(kinds: list[type[Any]]) -> str:
    """Return the row of the key that says which of several types a table is."""
    default = getattr(kinds[0], "DEFAULT_TAG", None)
    meanings = [f"`{_tag(kind)}`: {_lower(sections(kind)['summary'])}" for kind in kinds]
    text = "; ".join(each.rstrip(".") for each in meanings)
    cells = (f"`{kinds[0].__struct_config__.tag_field}`", "a text in quotes")
    shown = f'`"{default}"`' if default else "**required**"
    return f"| {' | '.join(cells)} | {shown} | {_cell(text)}. |"


def _key_rows(kind: type[Any], *, is_one_of_several: bool) -> list[str]:
    """Return a row for each key that a type takes."""
    meanings = _meanings(kind)
    rows = []
    for key, field in keys_of(kind).items():
        if key not in meanings:
            raise SystemExit(f"key {key} of {kind.__name__} is not described")
        text = f"`{_tag(kind)}`: {_lower(meanings[key])}" if is_one_of_several else meanings[key]
        rows.append(
            f"| `{key}` | {words_of(field.type)} | {_default(field, kind)} | {_cell(text)} |"
        )
    return rows


def _tag(kind: type[Any]) -> str:
    return str(kind.__struct_config__.tag)


def _lower(text: str) -> str:
    """Return a sentence as it stands behind a colon; initials stay as they are."""
    return text if text[1:2].isupper() else text[0].lower() + text[1:]


def _meanings(kind: type[Any]) -> dict[str, str]:
    """Return what keys mean; a table describes only the keys in which it differs from its base."""
    said: dict[str, str] = {}
    for base in (BUILT.get(kind, kind), *reversed(kind.__mro__)):
        if base is not object and base is not msgspec.Struct and issubclass(base, msgspec.Struct):
            said |= sections(base)["args"] or {}
    return said


def _default(field: Any, kind: type[Any]) -> str:
    if field.default is None and kind in BUILT:
        known = {each.name: each for each in msgspec.structs.fields(BUILT[kind])}
        field = known.get(field.name, field)
    if field.required:
        return "**required**"
    if field.default is not msgspec.NODEFAULT:
        return _shown(field.default)
    return _shown(field.default_factory())


def _shown(value: object) -> str:
    if value is None or value in ((), {}, "") or isinstance(value, msgspec.Struct):
        return "\u2013"
    if isinstance(value, tuple):
        return f"`{json.dumps(value)}`"
    if isinstance(value, bool):
        return "`true`" if value else "`false`"
    if isinstance(value, int) and value >= 10_000:
        return f"`{value:_}`"
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"


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

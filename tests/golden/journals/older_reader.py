"""What a version that knows an older record format reads of a record: the kinds and fields it has.

`formatN-kinds.json` has the fields of all inputs and events of the last version before format N + 1
by their kinds. It is never written again.
"""

import json
from pathlib import Path
from typing import Any

from evenmatch.engine.records import Record, encode

HERE = Path(__file__).parent


def kinds_of(number: int) -> dict[str, dict[str, list[str]]]:
    """Return the fields of `inputs` and `events` by kind, as a format had them."""
    found: dict[str, dict[str, list[str]]] = json.loads(
        (HERE / f"format{number}-kinds.json").read_text(encoding="utf-8")
    )
    return found


def unknown_in(record: Record, number: int) -> list[str]:
    """Return what of a record a version with an older format does not understand."""
    known, line = kinds_of(number), json.loads(encode(record))
    return [
        *_unknown(line["input"], known["inputs"], "kind"),
        *(name for each in line["events"] for name in _unknown(each, known["events"], "event")),
    ]


def _unknown(value: dict[str, Any], known: dict[str, list[str]], tag: str) -> list[str]:
    kind = value[tag]
    if kind not in known:
        return [kind]
    return [f"{kind}.{name}" for name in value if name not in known[kind] and name != tag]

"""All independent mistakes of a file, although its reader stops at the first one.

The reader is called again and again, each time without the part that it refused: an unknown key or
a wrong value is left out, a criterion or a rule that cannot be used is replaced by a plain one, so
that the others keep their numbers. Later messages may be consequences of such changes; so a
sentence that names a removed key is not reported again, nor is one on what a policy lacks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

from evenmatch.criteria.base import Form, NumberGap
from evenmatch.criteria.registry import kind_with
from evenmatch.errors import ConfigError

Key = str | int
Path = tuple[Key, ...]
TRIES_MAX = 200
"""Most readings of one file; with more mistakes, the first ones must be corrected first."""
PLACE = re.compile(
    r'(?:(?P<list>[a-z_]+) "(?P<name>[^"]*)")?(?:, )?'
    r"(?P<keys>[\w-]+(?:\[\d+\])*(?:\.[\w-]+(?:\[\d+\])*)*)?(?P<sentence> .*)?",
    re.DOTALL,
)
"""`queue "duel", rules[0].limit must be ...`, see `model.checks.Place`."""
WIDEST = kind_with(Form.NUMBERS, NumberGap.WIDEST)
PLAIN: dict[str, dict[str, object]] = {
    "criteria": {"kind": WIDEST, "attribute": "plain"},
    "rules": {"kind": WIDEST, "attribute": "plain", "limit": 1.0},
}
"""Replacements of elements that cannot be used."""
UNNAMED = "unnamed."
"""Prefix of the name of a queue whose own name cannot be used, before its number."""
MEANT = re.compile(r"; did you mean (\w+)\?")
UNKNOWN_KEY, UNKNOWN_POLICY = "is not a known key", "no policy is called"
"""Sentences that are true whatever the rest of the file is."""


def mistakes_of(
    document: Mapping[str, object], read: Callable[[Mapping[str, object]], object]
) -> list[str]:
    """Return the mistakes of a file, in the order in which its reader finds them.

    Args:
        document: Keys and values, as TOML gives them.
        read: Raises a ConfigError for the first mistake; it changes nothing.
    """
    mender = _Mender(document)
    for _ in range(TRIES_MAX):
        try:
            read(mender.document)
        except ConfigError as error:
            if not mender.mend(str(error)):
                break
        else:
            break
    return mender.found


class _Mender:
    """A copy of a file from which the parts that its reader refuses are removed."""

    def __init__(self, document: Mapping[str, object]) -> None:
        self.document: dict[str, Any] = deepcopy(dict(document))
        self.found: list[str] = []
        # The keys that were removed, by queue, and for the rest of the file.
        self._gone: dict[Path, set[str]] = {}
        # Tables with a misspelt key, and the key that it probably is.
        self._misspelt: set[tuple[Path, str]] = set()

    def mend(self, text: str) -> bool:
        """Record a mistake and remove it; return whether that was possible."""
        place = PLACE.fullmatch(text)
        path = None if place is None else self._path_of(place)
        if path is None or place is None:
            first = "" if place is None else re.split(r"[.\[]", place["keys"] or "")[0]
            if first not in self._gone.get((), ()):
                self._note(text)
            return False
        scope = path[:2] if path[0] == "queue" and len(path) > 2 else ()
        sentence = place["sentence"] or ""
        is_true = UNKNOWN_KEY in sentence or UNKNOWN_POLICY in sentence
        if is_true or not self._follows(scope, path, sentence):
            self._note(text)
        if UNKNOWN_KEY in sentence:
            # The only consequence is that the table lacks the key that was meant.
            holder = self._at(path[:-1])
            meant = MEANT.search(sentence)
            if meant and meant[1] not in (holder or ()):
                self._misspelt.add((path[:-1], meant[1]))
            return isinstance(holder, dict) and holder.pop(path[-1], self) is not self
        return self._take_out(path, scope)

    def _note(self, text: str) -> None:
        text = re.sub(rf'queue "{UNNAMED}(\d+)", ', r"queue[\1].", text)
        if text not in self.found:
            self.found.append(text)

    def _path_of(self, place: re.Match[str]) -> Path | None:
        """Return the keys that lead to a place; None if the file has no such table."""
        path: list[Key] = []
        if place["list"] is not None:
            tables = self.document.get(place["list"])
            if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
                return None
            names = [each.get("name", "main") for each in tables]
            if place["name"] not in names:
                return None
            path = [place["list"], names.index(place["name"])]
        for part in (place["keys"] or "").split("."):
            key, *numbers = part.split("[")
            path += [key] if key else []
            path += [int(number.rstrip("]")) for number in numbers]
        return tuple(path) if path and path[0] in self.document else None

    def _follows(self, scope: Path, path: Path, sentence: str) -> bool:
        """Return whether a sentence may be a consequence of what was removed."""
        gone = self._gone.get(scope, set())
        # A policy may miss a criterion that was only invalid.
        named = {*re.findall(r"\w+", sentence), path[-1]}
        if any(path[:-1] == table and key in named for table, key in self._misspelt):
            return True
        return bool(gone) and ("policy" in path or not gone.isdisjoint(named))

    def _take_out(self, path: Path, scope: Path) -> bool:
        """Remove a key, or its parent if the key is missing; return whether anything changed."""
        path = self._present(path)
        if len(path) > 3 and path[2] in PLAIN and isinstance(self._at(path[:3]), list):
            return self._replace(path[:4], scope)
        *held_by, last = path
        holder = self._at(tuple(held_by))
        if isinstance(holder, dict) and isinstance(last, str):
            del holder[last]
            if len(path) == 3 and path[0] == "queue" and last == "name":
                holder[last] = f"{UNNAMED}{path[1]}"
            self._gone.setdefault(scope, set()).add(last)
            return True
        if tuple(held_by) == ("queue",):
            return self._replace((*held_by, last), scope)
        return self._take_out(tuple(held_by), scope) if held_by else False

    def _replace(self, path: Path, scope: Path) -> bool:
        *held_by, number = path
        holder = self._at(tuple(held_by))
        plain: dict[str, object] = {"name": f"{UNNAMED}{number}"}
        if held_by != ["queue"]:
            plain = dict(PLAIN[str(held_by[-1])])
        if holder[number] == plain:
            return False
        holder[number] = plain
        self._gone.setdefault(scope, set()).add(str(held_by[-1]))
        return True

    def _present(self, path: Path) -> Path:
        """Return the part of a path that exists in the file."""
        for length in range(len(path), 1, -1):
            holder, last = self._at(path[: length - 1]), path[length - 1]
            is_entry = isinstance(holder, dict) and last in holder
            if is_entry or (isinstance(holder, list) and last in range(len(holder))):
                return path[:length]
        return path[:1]

    def _at(self, path: Path) -> Any:
        """Return the value at a path; None if there is none."""
        found: Any = self.document
        for key in path:
            if isinstance(found, dict):
                found = found.get(key)
            elif isinstance(found, list) and isinstance(key, int) and key < len(found):
                found = found[key]
            else:
                return None
        return found

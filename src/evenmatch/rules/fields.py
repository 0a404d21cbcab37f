"""Reads the keys of one JSON object, with a finding for each that does not fit."""

from __future__ import annotations

from typing import TypeVar

from evenmatch.rules.findings import FindingList, child_path, excerpt
from evenmatch.rules.json_text import Json

Word = TypeVar("Word", bound=str)
MISSING = "is missing"


class Fields:
    """An object of the text; reading a key makes it a known one."""

    def __init__(self, raw: dict[str, Json], path: str, findings: FindingList) -> None:
        self._raw = raw
        self._asked: set[str] = set()
        self.path = path
        self.findings = findings

    def at(self, key: str) -> str:
        """Return the path of a key."""
        return child_path(self.path, key)

    @property
    def names(self) -> tuple[str, ...]:
        """The keys of the object, in the order of the text."""
        return tuple(self._raw)

    def has(self, key: str) -> bool:
        """Return whether the key exists and has a value."""
        return self.raw(key) is not None

    def raw(self, key: str) -> Json:
        """Return the value of a key, of any type; None if it is missing or null."""
        self._asked.add(key)
        return self._raw.get(key)

    def text(self, key: str, *, is_needed: bool = False) -> str:
        """Return a string, "" if there is none."""
        value = self.raw(key)
        if value is None:
            self._need(key, "a string", is_needed=is_needed)
            return ""
        if not isinstance(value, str):
            self._refuse(key, "a string", value)
            return ""
        if is_needed and not value:
            self._refuse(key, "a string of at least 1 character", value)
        return value

    def number(self, key: str, *, is_needed: bool = False) -> float | None:
        """Return a number, also one in quotes; None if there is none."""
        value = self.raw(key)
        if value is None:
            self._need(key, "a number", is_needed=is_needed)
            return None
        number = number_of(value)
        if number is None:
            self._refuse(key, "a number", value)
        elif isinstance(value, str):
            self.quoted(self.at(key), value)
        return number

    def quoted(self, path: str, value: str) -> None:
        """Warn of a number in quotes."""
        plain = value.strip()
        self.findings.warning(path, f"is a number in quotes; write {plain} without them")

    def whole(self, key: str, least: int, most: int, default: int | None = None) -> int:
        """Return a whole number within bounds; `least` if the value cannot be used."""
        value = self.number(key, is_needed=default is None)
        if value is None:
            return least if default is None else default
        if not value.is_integer() or not least <= value <= most:
            self._refuse(key, f"a whole number from {least} to {most}", self.raw(key))
            return least
        return int(value)

    def word(self, key: str, allowed: tuple[Word, ...], default: Word | None = None) -> Word:
        """Return one of some words; the first one if the value cannot be used."""
        value = self.raw(key)
        options = f"one of {', '.join(allowed)}"
        if value is None:
            if default is None:
                self._need(key, options, is_needed=True)
            return default or allowed[0]
        for each in allowed:
            if each == value:
                return each
            if isinstance(value, str) and each.lower() == value.strip().lower():
                self.findings.warning(self.at(key), f"is taken as {each}, got {excerpt(value)}")
                return each
        hint = self.findings.hint(value, allowed) if isinstance(value, str) else ""
        self._refuse(key, options, value, hint)
        return default or allowed[0]

    def texts(self, key: str) -> list[tuple[str, str]]:
        """Return the strings of a list, or a single string, each with its path."""
        value = self.raw(key)
        if isinstance(value, str):
            return [(value, self.at(key))]
        if not isinstance(value, list):
            if value is not None:
                self._refuse(key, "a list of strings", value)
            return []
        texts = []
        for number, each in enumerate(value):
            path = child_path(self.at(key), number)
            if isinstance(each, str):
                texts.append((each, path))
            else:
                self.findings.error(path, f"must be a string, got {excerpt(each)}")
        return texts

    def objects(self, key: str, *, is_needed: bool = False) -> list[Fields]:
        """Return the objects of a list."""
        value = self.raw(key)
        if value is None:
            self._need(key, "a list of objects", is_needed=is_needed)
            return []
        if not isinstance(value, list):
            self._refuse(key, "a list of objects", value)
            return []
        objects = []
        for number, each in enumerate(value):
            path = child_path(self.at(key), number)
            if isinstance(each, dict):
                objects.append(Fields(each, path, self.findings))
            else:
                self.findings.error(path, f"must be an object, got {excerpt(each)}")
        return objects

    def end(self, what: str) -> None:
        """Warn of the keys that were not read.

        Args:
            what: What the object is, such as "a comparison".
        """
        for key in self._raw:
            if key not in self._asked:
                known = ", ".join(sorted(self._asked))
                message = f"is not a key of {what} and is ignored; its keys are {known}"
                hint = self.findings.hint(key, self._asked)
                self.findings.warning(self.at(key), f"{message}{hint}")

    def _need(self, key: str, what: str, *, is_needed: bool) -> None:
        if is_needed:
            self.findings.error(self.at(key), f"{MISSING}; give it {what}")

    def _refuse(self, key: str, allowed: str, value: Json, hint: str = "") -> None:
        self.findings.error(self.at(key), f"must be {allowed}, got {excerpt(value)}{hint}")


def number_of(value: Json) -> float | None:
    """Return a number, or the number in quotes; None if it is neither.

    >>> number_of("2"), number_of(" 1e400 "), number_of(True), number_of("two")
    (2.0, None, None, None)
    """
    if isinstance(value, float):
        return value
    if not isinstance(value, str) or not value.strip() or not value.isascii() or "_" in value:
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if abs(number) < float("inf") else None

"""JSON as people write it into rule sets: with comments, and with duplicate keys.

AWS's own examples have comments, and one of them has two `target` keys in one object, so that a
plain JSON reader silently loses half of an expansion. This reader accepts, with a warning, what
JSON does not allow but whose meaning is plain: comments, duplicate keys (the last one counts), a
comma before a closing bracket, line breaks in strings. Everything else that is not JSON ends the
reading with an error. Nesting has a limit, so that no text exhausts the stack.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right

from evenmatch.rules.findings import FindingList, child_path

CHARACTERS_MAX = 65_535
NESTING_MAX = 50

Json = None | bool | float | str | list["Json"] | dict[str, "Json"]
"""All numbers are floats; whether one is whole is checked when it matters."""

BLANK = re.compile(r"[ \t\r\n\ufeff]*")
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
WORD = re.compile(r"[+-]?[\w.+-]+")
PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
HEX = re.compile(r"[0-9a-fA-F]{4}")
WORDS: dict[str, Json] = {"true": True, "false": False, "null": None}
ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class NotJson(Exception):
    """The text cannot be read; the findings say why."""


def read_json(
    text: str | bytes,
    findings: FindingList,
    *,
    characters_max: int = CHARACTERS_MAX,
    owner: str = "AWS",
) -> Json:
    """Return the value of a text.

    Args:
        text: At most `characters_max` characters; bytes are UTF-8.
        findings: Receives oddities, and the line of every path.
        characters_max: The limit.
        owner: The maker of the matchmaker that the text is for.

    Raises:
        NotJson: The text is incomplete or not JSON; the findings have the error.

    Complexity:
        O(n log n) for n characters.
    """
    findings.lines["$"] = 1
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            findings.error("$", f"is no UTF-8 text: byte {error.start} does not fit; save it so")
            raise NotJson from error
    if not 1 <= len(text) <= characters_max:
        allowed = f"must have 1 to {characters_max:,} characters"
        findings.error("$", f"{allowed}, got {len(text):,}; leave out descriptions and blanks")
        raise NotJson
    return _JsonText(text, findings, owner).read()


class _JsonText:
    """A text and the present position in it."""

    def __init__(self, text: str, findings: FindingList, owner: str) -> None:
        self._text = text
        self._owner = owner
        self._at = 0
        self._findings = findings
        self._breaks = [match.start() for match in re.finditer("\n", text)]

    def read(self) -> Json:
        value = self._value("$", 0)
        self._skip("$")
        if self._at < len(self._text):
            raise self._wrong("$", "goes on after its last bracket; leave out what follows it")
        return value

    def _value(self, path: str, depth: int) -> Json:
        self._skip(path)
        self._findings.lines[path] = bisect_right(self._breaks, self._at) + 1
        start = self._text[self._at : self._at + 1]
        if start in ("{", "[") and depth >= NESTING_MAX:
            raise self._wrong(
                path[:200], f"nests more than {NESTING_MAX} deep; no rule set needs that"
            )
        if start == "{":
            return self._object(path, depth)
        if start == "[":
            return self._list(path, depth)
        if start == '"':
            return self._string(path)
        return self._word(path)

    def _object(self, path: str, depth: int) -> Json:
        values: dict[str, Json] = {}
        self._at += 1
        while not self._ends(path, "}", is_first=not values):
            if self._text[self._at : self._at + 1] != '"':
                raise self._wrong(
                    path, f"must have a key in double quotes here, got {self._here()}"
                )
            line = bisect_right(self._breaks, self._at) + 1
            key = self._string(path)
            at = child_path(path, key)
            if key in values:
                before = self._findings.lines[at]
                self._findings.lines[at] = line
                self._findings.warning(
                    at,
                    f"is the second key {key!r} of its object, and the last one counts: what "
                    f"line {before} says is ignored; write an object for each, or delete one",
                )
            self._skip(path)
            if self._text[self._at : self._at + 1] != ":":
                raise self._wrong(at, f"must have a colon behind its name, got {self._here()}")
            self._at += 1
            values[key] = self._value(at, depth + 1)
        return values

    def _list(self, path: str, depth: int) -> Json:
        values: list[Json] = []
        self._at += 1
        while not self._ends(path, "]", is_first=not values):
            values.append(self._value(child_path(path, len(values)), depth + 1))
        return values

    def _ends(self, path: str, bracket: str, *, is_first: bool) -> bool:
        """Read a comma or the closing bracket; return whether it was the bracket."""
        self._skip(path)
        if self._text.startswith(bracket, self._at):
            self._at += 1
            return True
        if is_first:
            return False
        if not self._text.startswith(",", self._at):
            raise self._wrong(path, f"must have a comma or {bracket} here, got {self._here()}")
        self._at += 1
        self._skip(path)
        if not self._text.startswith(bracket, self._at):
            return False
        self._findings.warning(path, f"has a comma before its {bracket}; leave the comma out")
        self._at += 1
        return True

    def _string(self, path: str) -> str:
        parts = []
        begin = self._at
        self._at += 1
        while True:
            plain = PLAIN.match(self._text, self._at)
            assert plain is not None
            parts.append(plain[0])
            self._at = plain.end()
            here = self._text[self._at : self._at + 1]
            if here == '"':
                self._at += 1
                return self._whole("".join(parts), path)
            if here == "\\":
                parts.append(self._escape(path))
            elif here:
                self._findings.warning(
                    path, "has a line break or tab in a string; write \\n or \\t"
                )
                parts.append(here)
                self._at += 1
            else:
                self._at = begin
                raise self._wrong(
                    path, "has a string that does not end; close it with a double quote"
                )

    def _escape(self, path: str) -> str:
        letter = self._text[self._at + 1 : self._at + 2]
        if letter == "u":
            digits = HEX.match(self._text, self._at + 2)
            if digits is not None:
                self._at += 6
                return chr(int(digits[0], 16))
        elif letter in ESCAPES and letter:
            self._at += 2
            return ESCAPES[letter]
        raise self._wrong(path, f"has no such escape as {self._here()}; write \\\\ for a backslash")

    def _whole(self, text: str, path: str) -> str:
        """Return a string with surrogate pairs combined."""
        try:
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError as error:
            raise self._wrong(
                path, "has half of a character, \\ud800 say; write the character itself"
            ) from error

    def _word(self, path: str) -> Json:
        number = NUMBER.match(self._text, self._at)
        word = WORD.match(self._text, self._at)
        if number is not None and word is not None and number.end() == word.end():
            self._at = number.end()
            value = float(number[0])
            if math.isinf(value):
                raise self._wrong(path, f"must be a finite number, got {number[0][:30]}")
            return value
        if word is not None and word[0] in WORDS:
            self._at = word.end()
            return WORDS[word[0]]
        if word is not None and word[0].lstrip("+-").lower() in ("nan", "infinity", "inf"):
            raise self._wrong(
                path, f"must be a finite number, got {word[0]}; leave the key out instead"
            )
        raise self._wrong(
            path, f"must have a value here, got {self._here()}; texts need double quotes"
        )

    def _skip(self, path: str) -> None:
        """Skip blanks and comments."""
        while True:
            blank = BLANK.match(self._text, self._at)
            assert blank is not None
            self._at = blank.end()
            opening = self._text[self._at : self._at + 2]
            if opening == "//":
                end = self._text.find("\n", self._at)
                self._comment(path, len(self._text) if end < 0 else end)
            elif opening == "/*":
                end = self._text.find("*/", self._at + 2)
                if end < 0:
                    raise self._wrong(path, "has a comment that does not end; close it with */")
                self._comment(path, end + 2)
            else:
                return

    def _comment(self, path: str, end: int) -> None:
        line = bisect_right(self._breaks, self._at) + 1
        advice = "put it into a description" if self._owner == "AWS" else "leave it out"
        self._findings.warning(
            path,
            f"has a comment, which {self._owner} refuses; it is skipped here, {advice}",
            line,
        )
        self._at = end

    def _here(self) -> str:
        rest = self._text[self._at : self._at + 20].split("\n")[0]
        return repr(rest) if rest else "the end of the text or line"

    def _wrong(self, path: str, message: str) -> NotJson:
        line = bisect_right(self._breaks, self._at)
        column = self._at - (self._breaks[line - 1] if line else -1)
        self._findings.error(path, f"{message} (line {line + 1}, column {column})")
        return NotJson(message)

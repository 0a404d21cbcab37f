"""As much of Prometheus's language as our alerts use, over two scrapes of a server.

A selector sees the later scrape; `increase` and `rate` see the difference between the two, which
are `SECONDS` apart, and nothing of a series that is only in the later one, as in Prometheus;
`quantile_over_time` of a subquery sees the earlier one, as if it had been so for most of the time,
and `max_over_time` and `absent_over_time` both.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable

from prometheus_client.parser import text_string_to_metric_families

SECONDS = 60.0
Labels = frozenset[tuple[str, str]]
Vector = dict[Labels, float]
Scrape = dict[str, Vector]

TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?(?:e\d+)?)|(?P<name>[a-z_][a-z0-9_]*)"
    r"|(?P<labels>\{[^}]*\})|(?P<range>\[\d+[smhd](?::\d+[smhd])?\])|(?P<op>==|>=|<=|[<>()/,]))"
)
MATCHER = re.compile(r'(\w+)(=~|!=|=)"([^"]*)"')
COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    "<": operator.lt,
    "==": operator.eq,
    ">=": operator.ge,
    "<=": operator.le,
}
AGGREGATIONS: dict[str, Callable[[list[float]], float]] = {"sum": sum, "max": max, "count": len}
FUNCTIONS = ("increase", "rate", "absent", "histogram_quantile")


def scrape(text: bytes) -> Scrape:
    """Return the samples of `/metrics` by name."""
    found: Scrape = {}
    for family in text_string_to_metric_families(text.decode()):
        for sample in family.samples:
            found.setdefault(sample.name, {})[frozenset(sample.labels.items())] = sample.value
    return found


def names_in(expression: str) -> set[str]:
    """Return the metrics that an expression looks at."""
    bare = re.sub(r"\{[^}]*\}", "", expression)
    words = set(re.findall(r"[a-z_][a-z0-9_]*(?![a-z0-9_(])", bare))
    return {word for word in words if word.startswith("evenmatch_")}


def fires(expression: str, before: Scrape, after: Scrape) -> Vector:
    """Return the series for which an alert's expression holds; empty if it does not fire."""
    parser = _Parser(expression, before, after)
    found = parser.both()
    assert parser.rest == [], f"not understood: {parser.rest}"
    assert isinstance(found, dict)
    return found


class _Parser:
    def __init__(self, expression: str, before: Scrape, after: Scrape) -> None:
        self.rest: list[tuple[str, str]] = []
        at = 0
        while at < len(expression.rstrip()):
            match = TOKEN.match(expression, at)
            assert match is not None, f"not understood: {expression[at:]}"
            assert match.lastgroup is not None
            self.rest.append((match.lastgroup, match[match.lastgroup]))
            at = match.end()
        self._before, self._after = before, after

    def both(self) -> Vector | float:
        left = self._conjunction()
        while self._take("name", "or"):
            right = self._conjunction()
            assert isinstance(left, dict)
            assert isinstance(right, dict)
            left = right | left
        return left

    def _conjunction(self) -> Vector | float:
        left = self._compared()
        while (is_and := self._take("name", "and")) or self._take("name", "unless"):
            right = self._compared()
            assert isinstance(left, dict)
            assert isinstance(right, dict)
            left = {key: value for key, value in left.items() if (key in right) is is_and}
        return left

    def _compared(self) -> Vector | float:
        left = self._divided()
        if self.rest and self.rest[0][1] in COMPARE:
            holds = COMPARE[self.rest.pop(0)[1]]
            right = self._divided()
            assert isinstance(left, dict)
            limits = right if isinstance(right, dict) else dict.fromkeys(left, right)
            return {
                key: value
                for key, value in left.items()
                if key in limits and holds(value, limits[key])
            }
        return left

    def _divided(self) -> Vector | float:
        left = self._one()
        while self._take("op", "/"):
            right = self._one()
            assert isinstance(left, dict)
            assert isinstance(right, dict)
            left = {
                key: value / right[key] if right[key] else value * math.inf
                for key, value in left.items()
                if key in right
            }
        return left

    def _one(self) -> Vector | float:
        kind, text = self.rest.pop(0)
        if kind == "number":
            return float(text)
        assert kind == "name", text
        if text in AGGREGATIONS:
            return self._aggregated(AGGREGATIONS[text])
        if text == "quantile_over_time":
            return self._before_now()
        if text == "max_over_time":
            return self._at_any_time()
        if text == "absent_over_time":
            return {} if self._at_any_time() else {frozenset(): 1.0}
        if text in FUNCTIONS:
            self._expect("(")
            arguments = [self.both()]
            while self._take("op", ","):
                arguments.append(self.both())
            self._expect(")")
            return self._call(text, arguments)
        return self._selected(text)

    def _aggregated(self, joined: Callable[[list[float]], float]) -> Vector:
        is_by = self._take("name", "by")
        is_without = not is_by and self._take("name", "without")
        names: set[str] = set()
        if is_by or is_without:
            self._expect("(")
            names.add(self.rest.pop(0)[1])
            while self._take("op", ","):
                names.add(self.rest.pop(0)[1])
            self._expect(")")
        self._expect("(")
        vector = self.both()
        self._expect(")")
        assert isinstance(vector, dict)
        groups: dict[Labels, list[float]] = {}
        for labels, value in vector.items():
            key = frozenset(each for each in labels if (each[0] in names) != is_without)
            groups.setdefault(key, []).append(value)
        return {key: joined(values) for key, values in groups.items()}

    def _before_now(self) -> Vector:
        self._expect("(")
        assert self.rest.pop(0)[0] == "number"
        self._expect(",")
        after, self._after = self._after, self._before
        found = self._one()
        self._after = after
        assert self.rest.pop(0)[0] == "range"
        self._expect(")")
        assert isinstance(found, dict)
        return found

    def _at_any_time(self) -> Vector:
        self._expect("(")
        (_, name), (kind, _) = self.rest.pop(0), self.rest.pop(0)
        assert kind == "range"
        self._expect(")")
        then, now = self._before.get(name, {}), self._after.get(name, {})
        return {key: max(each[key] for each in (then, now) if key in each) for key in then | now}

    def _selected(self, name: str) -> Vector:
        matchers = []
        if self.rest and self.rest[0][0] == "labels":
            matchers = MATCHER.findall(self.rest.pop(0)[1])
        is_range = bool(self.rest) and self.rest[0][0] == "range"
        if is_range:
            self.rest.pop(0)

        def fits(labels: Labels) -> bool:
            own = dict(labels)
            return all(
                bool(re.fullmatch(text, own.get(key, ""))) is not kind.startswith("!")
                for key, kind, text in matchers
            )

        now = {key: value for key, value in self._after.get(name, {}).items() if fits(key)}
        if not is_range:
            return now
        then = self._before.get(name, {})
        return {key: value - then[key] for key, value in now.items() if key in then}

    def _call(self, name: str, arguments: list[Vector | float]) -> Vector:
        vector = arguments[-1]
        assert isinstance(vector, dict)
        if name == "absent":
            return {} if vector else {frozenset(): 1.0}
        if name == "rate":
            return {key: value / SECONDS for key, value in vector.items()}
        if name == "histogram_quantile":
            assert isinstance(arguments[0], float)
            return _quantiles(arguments[0], vector)
        return vector

    def _take(self, kind: str, text: str) -> bool:
        if self.rest and self.rest[0] == (kind, text):
            self.rest.pop(0)
            return True
        return False

    def _expect(self, text: str) -> None:
        assert self._take("op", text), f"{text} expected, got {self.rest[:1]}"


def _quantiles(share: float, buckets: Vector) -> Vector:
    """Return the upper bound of the bucket that holds the quantile: coarser than Prometheus."""
    series: dict[Labels, list[tuple[float, float]]] = {}
    for labels, count in buckets.items():
        own = dict(labels)
        bound = float(own.pop("le"))
        series.setdefault(frozenset(own.items()), []).append((bound, count))
    found: Vector = {}
    for key, counts in series.items():
        counts.sort()
        total = counts[-1][1]
        if total:
            found[key] = next(bound for bound, count in counts if count >= share * total)
    return found

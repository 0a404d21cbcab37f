"""From PlayFab queues to a configuration, with what became of every key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from evenmatch.errors import ConfigError
from evenmatch.lab.imports.playfab_kinds import (
    KindRule,
    Table,
    format_table,
    format_taken,
    is_solo,
    kind_rule,
)
from evenmatch.lab.imports.report import (
    ImportLine,
    ImportOptions,
    ImportResult,
    TakenLine,
    unreached,
)
from evenmatch.lab.imports.toml_text import arrivals_text, json_file, table_text, value_text
from evenmatch.lab.playfab_draws import drawn_by_queue
from evenmatch.model.queue import Criterion
from evenmatch.model.scenario import Choice, Distribution
from evenmatch.rules.findings import child_path
from evenmatch.rules.flexmatch.compile import CRITERIA_MAX, RULES_MAX
from evenmatch.rules.json_text import Json
from evenmatch.rules.playfab.compile import attribute_in, clock_of, criteria_of, criterion_of
from evenmatch.rules.playfab.queue import (
    MatchTotalRule,
    PlayFabQueue,
    PlayFabRule,
    StringEqualityRule,
    ages_of,
    only_loosens,
    values_at,
)
from evenmatch.rules.playfab.reader import QueueText, read_source

AGES_SHOWN = 6
ALLOCATION = (
    "name a hook: allocation = NAME in the queue and [server.allocation.NAME], which finds servers"
)
STATISTICS = "who may see statistics is a matter of keys, see the guide on letting others in"
NOT_SAID = "in PlayFab each ticket says it; give --wait-max SECONDS"
EXPANSIONS = ("Expansion", "LinearExpansion", "CustomExpansion")
NUMBERS = {
    "Difference": "at most {} apart",
    "MinIntersectionSize": "at least {} in common",
    "Min": "a total of {} at least",
    "Max": "a total of {} at most",
    "MaxLatency": "a region within {} ms for all",
}


def import_queues(text: bytes, options: ImportOptions, beside: str = "") -> ImportResult:
    """Return the import of PlayFab queues.

    Args:
        text: JSON, in any of the forms in use.
        options: Settings that it does not have.
        beside: The name of the file itself, which a single queue can play by; "" to write a file
            for each queue.

    Raises:
        ConfigError: There are errors; the message lists them, one per line.
    """
    source = read_source(text)
    errors = [each for each in source.findings if each.level == "error"]
    if errors:
        lines = [f"{each.path} (line {each.line}) {each.message}" for each in errors]
        raise ConfigError("\n".join(lines))
    tables: list[str] = []
    files: dict[str, str] = {}
    lines_found: list[ImportLine] = []
    for queue in source.queues:
        one = _QueueImport(queue, source, options)
        name = beside if beside and len(source.queues) == 1 else f"{queue.name}.rules.json"
        tables.append(one.toml(name))
        if not one.has_kinds and name != beside:
            files[name] = json_file(source.objects[queue.path])
        lines_found += one.lines()
    names = tuple([queue.name for queue in source.queues])
    players = max([queue.players_max for queue in source.queues])
    drawn, own = _drawn_apart({queue.name: drawn_by_queue(queue) for queue in source.queues})
    tables.append(arrivals_text(players, names, drawn, own=own))
    if options.wait_max is None:
        lines_found.append(
            ImportLine(path="GiveUpAfterSeconds", line=0, taken="not at all", note=NOT_SAID)
        )
    return ImportResult(
        format="playfab",
        queues=names,
        toml="\n".join(tables),
        files=files,
        lines=tuple(lines_found),
        findings=source.findings,
    )


def _drawn_apart(
    by_queue: Mapping[str, Mapping[str, Distribution]],
) -> tuple[dict[str, Distribution], dict[str, dict[str, Choice]]]:
    """Return what all players draw, and the values of those queues that need another type.

    Distributions are those of all queues; only words and sets can be values of a class of tickets.
    """
    drawn: dict[str, Distribution] = {}
    for name, each in chain.from_iterable(found.items() for found in by_queue.values()):
        if name not in drawn or _type_of(drawn[name]) != "number" or _type_of(each) == "number":
            drawn[name] = each
    own = {
        queue: {
            name: each
            for name, each in found.items()
            if isinstance(each, Choice) and _type_of(each) != _type_of(drawn[name])
        }
        for queue, found in by_queue.items()
    }
    return drawn, own


def _type_of(drawn: Distribution) -> str:
    if not isinstance(drawn, Choice) or isinstance(drawn.values[0], float):
        return "number"
    return "word" if isinstance(drawn.values[0], str) else "set"


class _QueueImport:
    """The import of one queue."""

    def __init__(self, queue: PlayFabQueue, source: QueueText, options: ImportOptions) -> None:
        self._queue = queue
        self._raw = source.objects[queue.path]
        self._lines = source.lines
        self._options = options
        self._kinds: dict[str, KindRule] = {
            rule.path: kind_rule(queue, rule, options.wait_max) for rule in queue.rules
        }
        taken = {each.taken for each in self._kinds.values()} | {format_taken(queue)[0]}
        count = len([each for each in self._kinds.values() if each.table is not None])
        if options.target == "kinds" and count > RULES_MAX:
            message = f"becomes {count} rules of our own, and a queue has at most {RULES_MAX}"
            raise ConfigError(f"{queue.path} {message}; give --target rules_file")
        is_same = taken == {"exactly"} and count <= RULES_MAX
        self.has_kinds = options.target == "kinds" or (options.target == "auto" and is_same)
        self._criteria = {path: each for path, (each, _) in criteria_of(queue).items()}

    # The configuration

    def toml(self, rules_file: str) -> str:
        """Return the tables of the queue."""
        queue, options = self._queue, self._options
        values: dict[str, object] = {"name": queue.name}
        if self.has_kinds:
            values |= format_table(queue)
        else:
            values["rules_file"] = rules_file
        values["wait_max"] = options.wait_max
        if options.accept is not None:
            values["accept"] = {"seconds": options.accept}
        lines = [*table_text("[[queue]]", values)]
        if self.has_kinds:
            for criterion in self._criteria.values():
                lines += ["", *table_text("[[queue.criteria]]", _criterion_table(criterion))]
            for rule in queue.rules:
                table = self._kinds[rule.path].table
                if table is not None:
                    lines += ["", f"# {rule.name}", *table_text("[[queue.rules]]", table)]
        return "\n".join(lines) + "\n"

    # The report

    def lines(self) -> Iterator[ImportLine]:
        """Yield what became of every key, in the order of the text."""
        rules = {rule.path: rule for rule in self._queue.rules}
        for key, raw in self._raw.items():
            path = child_path(self._queue.path, key)
            if path in rules:
                yield from self._of_rule(rules[path], raw)
            elif isinstance(raw, list) and child_path(path, 0) in rules:
                for number, each in enumerate(raw):
                    yield from self._of_rule(rules[child_path(path, number)], each)
            elif key == "Teams" and isinstance(raw, list):
                for number in range(len(raw)):
                    yield self._of_size(child_path(path, number), "Teams")
            else:
                yield self._of_key(path, key, raw)

    def _line(self, path: str, taken: TakenLine, becomes: str = "", note: str = "") -> ImportLine:
        line = self._lines.get(path, 0)
        return ImportLine(path=path, line=line, taken=taken, becomes=becomes, note=note)

    def _of_key(self, path: str, key: str, raw: Json) -> ImportLine:
        if key == "Name":
            return self._line(path, "exactly", f"name = {value_text(raw)}")
        if key in ("MinMatchSize", "MaxMatchSize", "MaxTicketSize"):
            return self._of_size(path, key)
        if key == "ServerAllocationEnabled":
            if not raw:
                return self._line(path, "exactly", "no allocation")
            return self._line(path, "not at all", note=ALLOCATION)
        if key in ("BuildId", "BuildAliasParams"):
            return self._line(path, "not at all", note="the hook of allocation chooses the build")
        if key == "StatisticsVisibilityToPlayers":
            return self._line(path, "not at all", note=STATISTICS)
        if raw in (None, [], {}):
            return self._line(path, "exactly", "nothing, as it is empty")
        return self._line(path, "not at all", note="no key of a PlayFab queue that is known here")

    def _of_size(self, path: str, key: str) -> ImportLine:
        taken, note = format_taken(self._queue) if self.has_kinds else ("exactly", "")
        if not self.has_kinds:
            number = path.rpartition("[")[2].rstrip("]")
            sides = f"team {self._queue.teams[int(number)].name}" if key == "Teams" else ""
            return self._line(path, taken, sides or "the size of matches and parties in rules_file")
        table = format_table(self._queue)
        return self._line(path, taken, _keys_text(table), note)

    def _of_rule(self, rule: PlayFabRule, raw: Json) -> Iterator[ImportLine]:
        kind = self._kinds[rule.path]
        is_native = self.has_kinds
        becomes = f"condition {rule.name}" if not is_native else _keys_text(kind.table or {})
        head = type(rule).__name__
        yield self._line(
            rule.path,
            kind.taken if is_native else "exactly",
            f"{head}: {becomes or 'nothing'}",
            kind.note if is_native else "",
        )
        for key, value in raw.items() if isinstance(raw, dict) else ():
            if key not in ("Type", "Name"):
                yield self._of_field(rule, key, value)

    def _of_field(self, rule: PlayFabRule, key: str, raw: Json) -> ImportLine:
        path = child_path(rule.path, key)
        if key == "Weight":
            return self._of_weight(rule, path)
        if key in ("Attribute", "Path"):
            return self._of_attribute(rule, path)
        if key in EXPANSIONS:
            return self._of_expansion(rule, path, raw)
        kind = self._kinds[rule.path]
        taken: TakenLine = kind.taken if self.has_kinds else "exactly"
        note = ""
        if key == "SecondsUntilOptional":
            words = f"not enforced from {rule.optional_after:g} s on"
            own = "its criterion does" if rule.path in self._criteria else "nothing does"
            note = f"PlayFab then still prefers tickets that satisfy it; here {own}"
            return self._line(path, taken, words if raw is not None else "always enforced", note)
        if key in ("AttributeNotSpecifiedBehavior", "DefaultAttributeValue"):
            return self._of_missing(rule, path)
        if key == "MergeFunction":
            attribute = "single players need none" if is_solo(self._queue) else f"{raw} of a party"
            return self._line(path, taken, attribute)
        if key in NUMBERS:
            words = NUMBERS[key].format(value_text(raw))
            if key == "Difference" and taken == "exactly":
                numbers = " of whole numbers" if self.has_kinds else ""
                note = f"a difference{numbers} at the limit is allowed"
            return self._line(path, taken, words, note)
        return self._line(path, "not at all", note="no key of such a rule; it is ignored")

    def _of_weight(self, rule: PlayFabRule, path: str) -> ImportLine:
        found = self._criteria.get(rule.path)
        if found is not None:
            words = f"criterion {_keys_text(_criterion_table(found))}"
            note = "PlayFab tries candidates in this order; here it says how good a match is"
            return self._line(path, "approximately", words, note)
        attribute = attribute_in(rule)
        if not rule.weight:
            return self._line(path, "exactly", "no criterion")
        if criterion_of(self._queue, rule) is not None:
            note = f"a queue has at most {CRITERIA_MAX} criteria: those of the largest weights"
        elif isinstance(rule, MatchTotalRule):
            note = "a total has no order of candidates that a criterion could say"
        elif attribute is not None and attribute.missing == "any":
            note = "a criterion compares all players, and some may lack this; give them a value"
        elif attribute is not None and attribute.missing == "default":
            note = "rules have two defaults for this attribute; give them one"
        else:
            note = "there is no difference to be compared; add a criterion of your own"
        return self._line(path, "not at all", note=note)

    def _of_attribute(self, rule: PlayFabRule, path: str) -> ImportLine:
        attribute = attribute_in(rule)
        if attribute is None:
            words = "the attribute latency, a map from regions to milliseconds"
            note = 'send {"latency": {"eu": 30}} in place of a list of region and latency'
            return self._line(path, "exactly", words, note)
        words = f"the attribute {attribute.name} of each player"
        if attribute.source == "PlayerEntity":
            note = "PlayFab's store is not read: let your backend put it into tickets"
            return self._line(path, "approximately", words, note)
        note = (
            ""
            if attribute.name == attribute.path
            else f"send it under this name, no path {attribute.path}"
        )
        return self._line(path, "exactly", words, note)

    def _of_missing(self, rule: PlayFabRule, path: str) -> ImportLine:
        attribute = attribute_in(rule)
        taken: TakenLine = "exactly"
        if attribute is None:
            return self._line(path, "not at all", note="no key of such a rule; it is ignored")
        if self.has_kinds and self._kinds[rule.path].taken == "not at all":
            return self._line(path, "not at all", note="its rule is not taken over")
        words = f"{value_text(attribute.default)} for players without it"
        if attribute.missing == "any" and isinstance(rule, MatchTotalRule):
            words = "a player without it adds nothing to the total"
            note = "PlayFab does not say what it counts in a total"
            return self._line(path, "approximately", words, note)
        if attribute.missing == "any":
            words = "a player without it may meet anybody"
        elif attribute.missing == "needed":
            words = "a ticket without it is refused"
        if self.has_kinds and attribute.missing != "needed":
            taken, words = "approximately", "a ticket without it is refused"
        return self._line(path, taken, words)

    def _of_expansion(self, rule: PlayFabRule, path: str, raw: Json) -> ImportLine:
        if raw in (None, {}):
            return self._line(path, "exactly", "nothing, as it is empty")
        if not rule.expanded:
            return self._line(path, "not at all", note="this type of rule has no expansion")
        kind = self._kinds[rule.path]
        taken: TakenLine = kind.taken if self.has_kinds else "exactly"
        note = ""
        if not only_loosens(rule):
            note = "it shrinks at some age, and is kept so: each ticket goes by its own wait"
        elif clock_of(self._queue) == "each":
            note = "each ticket goes by its own wait"
        note = note or unreached(ages_of(rule), self._options.wait_max)
        if rule.is_cut:
            taken, note = (
                "approximately",
                "it goes on for longer; from its last step the value stays",
            )
        return self._line(path, taken, _schedule(rule), note)


def _schedule(rule: PlayFabRule) -> str:
    """Return the values of a rule by age."""
    ages = ages_of(rule)
    parts = []
    for age in ages[:AGES_SHOWN]:
        values = values_at(rule, age)
        if values is None:
            words = "not active"
        elif isinstance(rule, StringEqualityRule):
            words = "active"
        else:
            words = " to ".join([value_text(value) for value in values])
        parts.append(f"{words} from {age:g} s")
    more = len(ages) - AGES_SHOWN
    return ", ".join(parts) + (f" and {more} more" if more > 0 else "")


def _criterion_table(criterion: Criterion) -> Table:
    table: Table = {"kind": criterion.kind, "attribute": criterion.attribute}
    table["weight"] = criterion.weight
    if criterion.pairs is not None:
        table |= {"pairs": criterion.pairs, "best": criterion.best, "worst": criterion.worst}
    elif criterion.scale.kind == "capped":
        table["scale"] = {"kind": "capped", "max": criterion.scale.max}
    return table


def _keys_text(table: Mapping[str, object]) -> str:
    return ", ".join([f"{key} = {value_text(value)}" for key, value in table.items()])

"""Joins the answers of several shards into one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from evenmatch.errors import InvalidTicket
from evenmatch.server.http.responses import JSON, encode, problem_of
from evenmatch.server.views.alert_metrics import READY
from evenmatch.server.views.metrics import CONTENT_TYPE
from evenmatch.wire.tickets import ItemProblem

WHERE = re.compile(r"\A/\d+")
SAMPLE = re.compile(r"\A([A-Za-z_:][A-Za-z0-9_:]*)(\{)?")
UNKNOWN, TOO_MANY, UNAVAILABLE = 404, 429, 503
SHARD_UP = "evenmatch_shard_up"
SHARD_UP_ABOUT = (
    f"# HELP {SHARD_UP} 1 if the shard answers, 0 if it has no metrics here\n"
    f"# TYPE {SHARD_UP} gauge\n"
)
NOT_READY = f"# HELP {READY[0]} {READY[1]}\n# TYPE {READY[0]} gauge\n{READY[0]} 0.0\n"
TURNED_AWAY = frozenset({401, 403})


class WholeAnswer(NamedTuple):
    """A complete HTTP answer."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes

    @property
    def is_well(self) -> bool:
        """Return whether it is no error."""
        return 200 <= self.status < 300

    def value(self) -> Any:
        """Return its JSON."""
        return msgspec.json.decode(self.body)


NamedAnswers = Sequence[tuple[str, WholeAnswer]]
"""What each shard says."""


def well(value: object, status: int = 200) -> WholeAnswer:
    """Return a JSON answer without an error."""
    return WholeAnswer(status, tuple(JSON), encode(value))


def worst(answers: Sequence[WholeAnswer]) -> WholeAnswer | None:
    """Return the most serious error among answers, None if there is none."""
    bad = [each for each in answers if not each.is_well]
    return max(bad, key=lambda each: each.status, default=None)


def lists(named: NamedAnswers) -> WholeAnswer:
    """Join lists; a shard that does not know the subject adds nothing."""
    answers = [each for _, each in named]
    known = [each for each in answers if each.status != UNKNOWN] or answers
    if (bad := worst(known)) is not None:
        return bad
    return well([item for each in known for item in each.value()])


def queues(named: NamedAnswers) -> WholeAnswer:
    """Join lists of queues; of one that is split, parts and those who wait are counted."""
    joined = lists(named)
    if not joined.is_well:
        return joined
    found: dict[str, Any] = {}
    for queue in joined.value():
        before = found.setdefault(queue["name"], queue)
        if before is not queue:
            before["parts"] = before.get("parts", 1) + 1
            before["waiting"] += queue["waiting"]
            before["fault"] = before.get("fault") or queue.get("fault")
    return well(list(found.values()))


def first(answers: Sequence[WholeAnswer]) -> WholeAnswer:
    """Return the answer of the first shard, unless there is an error."""
    return worst(answers) or answers[0]


def drains(named: NamedAnswers) -> WholeAnswer:
    """Join answers about drains: all shards take no tickets, or some still do."""
    answers = [each for _, each in named]
    if (bad := worst(answers)) is not None:
        return bad
    told = [each.value() for each in answers]
    left = [each["seconds_left"] for each in told if each["seconds_left"] is not None]
    return well(
        {
            "draining": all(each["draining"] for each in told),
            "waiting": sum(each["waiting"] for each in told),
            "seconds_left": max(left, default=None),
        }
    )


def metrics(named: NamedAnswers, own: str) -> WholeAnswer:
    """Join metrics of shards; where there are several, each sample gets the label `shard`.

    A shard that does not answer is left out and said to be down: its metrics are missed, and those
    of the others are needed just then. If none does, nobody has judged who asks: they learn what
    `/readyz` tells anybody.

    Args:
        named: What the shards say.
        own: What the node says of itself.
    """
    up = [(shard, each) for shard, each in named if each.status != UNAVAILABLE]
    if (bad := worst([each for _, each in up])) is not None:
        return bad
    has_several = len(named) > 1
    families: _Families = {}
    for shard, answer in up:
        _add(families, answer.body.decode(), shard if has_several else "")
    if up:
        _add(families, own, "")
    else:
        for shard, _ in named:
            _add(families, NOT_READY, shard if has_several else "")
    if has_several:
        for shard, each in named:
            _add(families, f"{SHARD_UP_ABOUT}{SHARD_UP} {float(each.is_well)}\n", shard)
    lines = [line for about, samples in families.values() for line in (*about, *samples)]
    headers = up[0][1].headers if up else ((b"content-type", CONTENT_TYPE.encode()),)
    return WholeAnswer(200, headers, ("\n".join(lines) + "\n").encode())


_Families = dict[str, tuple[dict[str, None], list[str]]]
"""What is said about each metric, and its samples."""


def _add(families: _Families, text: str, shard: str) -> None:
    """Add metrics to those of others; with a shard, each sample is labelled."""
    family = ""
    for line in text.splitlines():
        if line.startswith("# "):
            word = line.split(" ", 3)
            if len(word) > 2 and word[1] in ("HELP", "TYPE"):
                family = word[2]
                families.setdefault(family, ({}, []))[0][line] = None
        elif line:
            sample = _labelled(line, shard) if shard else line
            families.setdefault(family, ({}, []))[1].append(sample)


def _labelled(line: str, shard: str) -> str:
    """Return a sample with one label more.

    >>> _labelled('tickets_total{queue="duel"} 3.0', "s0"), _labelled("up 1.0", "s0")
    ('tickets_total{shard="s0",queue="duel"} 3.0', 'up{shard="s0"} 1.0')
    """
    found = SAMPLE.match(line)
    assert found is not None, line
    rest = line[found.end() :]
    label = f'shard="{shard}"'
    if found[2]:
        return f"{found[1]}{{{label}{'' if rest.startswith('}') else ','}{rest}"
    return f"{found[1]}{{{label}}}{rest}"


def creates(
    found: Sequence[tuple[Sequence[int], WholeAnswer]],
    refused: Mapping[int, InvalidTicket],
    count: int,
) -> WholeAnswer:
    """Join the answers of shards for their tickets of one array.

    A shard that could not answer refuses each of its tickets as it would have refused one that
    came alone; the same request with the same key finds what the other shards have made of it.
    A caller whom all of them turn away, or send away for a while, is told so for the whole array:
    nothing was made.

    Args:
        found: What each says, with the places of its tickets in the array.
        refused: Those whose queues belong to several shards, by place.
        count: Tickets in the array.
    """
    answers = [each for _, each in found]
    if answers and all(each.status in TURNED_AWAY for each in answers):
        return answers[0]
    if answers and all(each.status == TOO_MANY for each in answers):
        return max(answers, key=_wait_of)
    items: list[Any] = [None] * count
    for places, answer in found:
        told = answer.value()
        for number, at in enumerate(places):
            items[at] = told[number] if answer.is_well else _refused(told, answer.status)
            if at in refused and items[at]["status"] == UNKNOWN:
                items[at] = _of_several_groups(refused[at])
            if where := items[at].get("where"):
                items[at]["where"] = f"/{at}{WHERE.sub('', where)}"
    return well(items)


def of_several_groups(answer: WholeAnswer, refusal: InvalidTicket) -> WholeAnswer:
    """Return what a shard says of a ticket whose queues belong to several.

    The shard judges who asks, and only its refusal of the queue that it has not is told otherwise;
    so names of queues go to nobody who may not know them.

    Args:
        answer: What the shard of one of the queues says.
        refusal: What is wrong with the ticket.
    """
    if answer.status != UNKNOWN:
        return answer
    status, problem = problem_of(refusal)
    return WholeAnswer(status, answer.headers, encode(problem))


def _of_several_groups(refusal: InvalidTicket) -> dict[str, Any]:
    status, problem = problem_of(refusal)
    told = {"error": problem.error, "message": problem.message, "where": problem.where}
    return {"status": status, **told}


def _refused(problem: Mapping[str, Any], status: int) -> dict[str, Any]:
    kept = {key: problem[key] for key in ItemProblem.__struct_fields__ if key in problem}
    return {"status": status, **kept}


def _wait_of(answer: WholeAnswer) -> int:
    """Return the seconds after which to ask again."""
    return int(dict(answer.headers).get(b"retry-after", b"0"))

"""FlexMatch rule sets and pools drawn at random, small enough to try everything."""

import json
from random import Random
from typing import Any

from evenmatch.rules.flexmatch.checker.match import CandidatePlayer, CandidateTicket
from evenmatch.rules.flexmatch.reader import read_rule_set
from evenmatch.rules.flexmatch.rule_set import RuleSet

Table = dict[str, Any]
MODES = ["duel", "war", "race"]
MAPS = ["ice", "fire", "sea", "sky"]
PLACES = ["eu", "us"]
ATTRIBUTES: list[Table] = [
    {"name": "skill", "type": "number", "default": 10},
    {"name": "level", "type": "number"},
    {"name": "mode", "type": "string", "default": "duel"},
    {"name": "maps", "type": "string_list", "default": ["ice", "sea"]},
    {"name": "wishes", "type": "string_number_map", "default": {"ice": 1}},
]
WIDER = {"maxDistance": 1, "maxLatency": 1, "maxCount": 1, "minDistance": -1, "minCount": -1}
"""In which direction a number of a rule lets more matches be."""


def drawn_rule_set(rng: Random, *, only_widens: bool = False) -> tuple[str, RuleSet]:
    """Return the text of a rule set that has no errors, and what it says.

    Args:
        rng: Chance.
        only_widens: Leave out `not`, `xor`, and expansions that could make matches rarer.
    """
    while True:
        text = json.dumps(drawn_table(rng, only_widens=only_widens))
        rule_set, _ = read_rule_set(text)
        if rule_set is not None:
            return text, rule_set


def drawn_table(rng: Random, *, only_widens: bool = False) -> Table:
    teams = _teams(rng)
    rules: list[Table] = []
    for number in range(rng.randint(0, 4)):
        rules.append(_rule(rng, f"R{number}", teams))
    if rules and rng.random() < 0.5:
        rules.append(_compound(rng, rules, only_widens=only_widens))
    return {
        "name": "drawn",
        "ruleLanguageVersion": "1.0",
        "playerAttributes": ATTRIBUTES,
        "algorithm": {"expansionAgeSelection": rng.choice(["newest", "oldest"])},
        "teams": teams,
        "rules": rules,
        "expansions": _expansions(rng, teams, rules, only_widens=only_widens),
    }


def drawn_pool(rng: Random, most: int) -> list[CandidateTicket]:
    """Return tickets of one to three players who came within half a minute."""
    return [_ticket(rng, f"t{number}") for number in range(rng.randint(1, most))]


def _ticket(rng: Random, name: str) -> CandidateTicket:
    size = rng.choice([1, 1, 1, 2, 3])
    players = tuple(_player(rng, f"{name}.{number}") for number in range(size))
    return CandidateTicket(id=name, players=players, enqueued_at=rng.randint(0, 60) / 2)


def _player(rng: Random, name: str) -> CandidatePlayer:
    attributes: Table = {"skill": rng.randint(0, 40), "level": rng.randint(1, 4)}
    if rng.random() < 0.6:
        attributes["mode"] = rng.choice(MODES)
    if rng.random() < 0.6:
        attributes["maps"] = tuple(rng.sample(MAPS, rng.randint(0, 3)))
    if rng.random() < 0.1:
        del attributes[rng.choice(["skill", "level"])]
    latencies = {place: float(rng.randint(1, 12) * 10) for place in PLACES if rng.random() < 0.9}
    return CandidatePlayer(id=name, attributes=attributes, latencies=latencies or None)


def _teams(rng: Random) -> list[Table]:
    teams = []
    for name in ["red", "blue", "green"][: rng.choice([1, 2, 2, 2, 3])]:
        least = rng.randint(0, 2)
        team = {"name": name, "minPlayers": least, "maxPlayers": rng.randint(max(1, least), 3)}
        teams.append(team)
    if rng.random() < 0.2:
        teams[0]["quantity"] = 2
    return teams


# Expressions


def _scope(rng: Random, teams: list[Table]) -> str:
    names = [each["name"] for each in teams]
    return rng.choice(["*", "*", "*", rng.choice(names), ",".join(names)])


def _numbers(rng: Random, teams: list[Table]) -> str:
    """Draw an expression that gives numbers, one or in lists."""
    name = rng.choice(["skill", "skill", "level"])
    values = f"teams[{_scope(rng, teams)}].players.attributes[{name}]"
    fold = rng.choice(["min", "max", "avg", "median", "sum", "stddev"])
    return rng.choice(
        [
            values,
            f"{fold}({values})",
            _number(rng, teams),
            f"count(teams[{_scope(rng, teams)}].players)",
        ]
    )


def _number(rng: Random, teams: list[Table]) -> str:
    """Draw an expression that gives one number."""
    fold = rng.choice(["min", "max", "avg", "median", "sum", "stddev"])
    outer = rng.choice(["min", "max", "avg"])
    name = rng.choice(["skill", "skill", "level"])
    values = f"teams[*].players.attributes[{name}]"
    sizes = "count(teams[*].players)"
    return rng.choice(
        [f"{fold}(flatten({values}))", f"{outer}({fold}({values}))", f"{outer}({sizes})"]
    )


def _strings(rng: Random, teams: list[Table]) -> str:
    values = (
        f"teams[{_scope(rng, teams)}].players.attributes[{rng.choice(['maps', 'maps', 'mode'])}]"
    )
    return rng.choice([values, f"flatten({values})"])


# Rules


def _rule(rng: Random, name: str, teams: list[Table]) -> Table:
    draw = rng.choice(
        [_comparison, _among, _distance, _distance, _collection, _latency, _batch, _sort]
    )
    rule = {"name": name} | draw(rng, teams)
    merges = ["union", "intersection"] if rule["type"] == "collection" else ["min", "max", "avg"]
    if rng.random() < 0.4 and "referenceValue" in rule:
        rule["partyAggregation"] = rng.choice(merges)
    return rule


def _comparison(rng: Random, teams: list[Table]) -> Table:
    reference: object = rng.choice([rng.randint(0, 30), _number(rng, teams)])
    return {
        "type": "comparison",
        "measurements": [_numbers(rng, teams)],
        "operation": rng.choice(["<", "<=", "=", "!=", ">", ">="]),
        "referenceValue": reference,
    }


def _among(rng: Random, teams: list[Table]) -> Table:
    return {
        "type": "comparison",
        "measurements": [
            rng.choice([_numbers(rng, teams), "flatten(teams[*].players.attributes[mode])"])
        ],
        "operation": rng.choice(["=", "!="]),
    }


def _distance(rng: Random, teams: list[Table]) -> Table:
    limits = {"maxDistance": rng.randint(1, 30)}
    if rng.random() < 0.2:
        limits = {"minDistance": rng.randint(1, 10)}
    reference: object = rng.choice([_number(rng, teams), _number(rng, teams), rng.randint(0, 30)])
    measured = [_numbers(rng, teams)]
    return {"type": "distance", "measurements": measured, "referenceValue": reference} | limits


def _collection(rng: Random, teams: list[Table]) -> Table:
    operation = rng.choice(["intersection", "contains", "reference_intersection_count"])
    rule: Table = {"type": "collection", "operation": operation}
    rule["measurements"] = [_strings(rng, teams)]
    if operation == "contains":
        rule["referenceValue"] = rng.choice([*MAPS, *MODES])
    elif operation == "reference_intersection_count":
        shared = "set_intersection(flatten(teams[*].players.attributes[maps]))"
        rule["referenceValue"] = rng.choice([MAPS[:2], shared, "fire"])
    rule[rng.choice(["minCount", "maxCount"])] = rng.randint(0, 2)
    return rule


def _latency(rng: Random, teams: list[Table]) -> Table:
    rule: Table = {"type": "latency", "maxLatency": rng.randint(2, 10) * 10}
    if rng.random() < 0.3:
        rule |= {
            "maxDistance": rng.randint(1, 5) * 10,
            "distanceReference": rng.choice(["min", "avg"]),
        }
    return rule


def _batch(rng: Random, teams: list[Table]) -> Table:
    if rng.random() < 0.3:
        return {"type": "batchDistance", "batchAttribute": "mode"}
    return {"type": "batchDistance", "batchAttribute": "skill", "maxDistance": rng.randint(1, 25)}


def _sort(rng: Random, teams: list[Table]) -> Table:
    direction = rng.choice(["ascending", "descending"])
    rule: Table = {"type": rng.choice(["absoluteSort", "distanceSort"]), "sortDirection": direction}
    if rng.random() < 0.5:
        return rule | {"sortAttribute": "skill"}
    return rule | {"sortAttribute": "wishes", "mapKey": rng.choice(["minValue", "maxValue"])}


def _compound(rng: Random, rules: list[Table], *, only_widens: bool) -> Table:
    barred = ("absoluteSort", "distanceSort", "batchDistance")
    names = [each["name"] for each in rules if each["type"] not in barred]
    if not names:
        return {"name": "C", "type": "batchDistance", "batchAttribute": "mode"}
    operators = ["and", "or"] if only_widens else ["and", "or", "or", "xor", "not"]
    return {"name": "C", "type": "compound", "statement": _statement(rng, names, operators, 2)}


def _statement(rng: Random, names: list[str], operators: list[str], depth: int) -> str:
    if depth == 0 or rng.random() < 0.3:
        return rng.choice(names)
    operator = rng.choice(operators)
    parts = 1 if operator == "not" else 2
    inner = [_statement(rng, names, operators, depth - 1) for _ in range(parts)]
    return f"{operator}({', '.join(inner)})"


# Expansions


def _expansions(
    rng: Random, teams: list[Table], rules: list[Table], *, only_widens: bool
) -> list[Table]:
    targets: list[tuple[str, float, int]] = []
    for rule in rules:
        for key, direction in WIDER.items():
            if key in rule:
                targets.append((f"rules[{rule['name']}].{key}", rule[key], direction))
        if "referenceValue" in rule and rule["type"] == "distance" and not only_widens:
            targets.append((f"rules[{rule['name']}].referenceValue", rng.randint(0, 30), 0))
    for team in teams:
        targets.append((f"teams[{team['name']}].minPlayers", team["minPlayers"], -1))
        targets.append((f"teams[{team['name']}].maxPlayers", team["maxPlayers"], 1))
    drawn = rng.sample(targets, min(len(targets), rng.randint(0, 3)))
    return [_steps(rng, *each, only_widens=only_widens) for each in drawn]


def _steps(rng: Random, target: str, value: float, direction: int, *, only_widens: bool) -> Table:
    waits = sorted(rng.sample(range(1, 30), rng.randint(1, 3)))
    values = []
    for _ in waits:
        change = rng.randint(0, 2 if "Players" in target or "Count" in target else 20)
        sign = (
            direction if only_widens or (direction and rng.random() < 0.8) else rng.choice([-1, 1])
        )
        value = max(0, value + sign * change)
        values.append(value)
    return {
        "target": target,
        "steps": [
            {"waitTimeSeconds": wait, "value": each}
            for wait, each in zip(waits, values, strict=True)
        ],
    }

"""Queues in plain sentences, and what may surprise about them."""

from __future__ import annotations

from collections.abc import Iterator

from evenmatch.cli.surprises import surprises
from evenmatch.cli.timing import solving_warnings, timing_warnings
from evenmatch.criteria.expansion import inverse, last_change
from evenmatch.criteria.relation import pairs_of
from evenmatch.engine.matching.pool import Pool
from evenmatch.model.queue import (
    Criterion,
    Format,
    Handicap,
    Queue,
    ReadyCheck,
    Rule,
    default_choice,
)
from evenmatch.model.scenario import Scenario

COMPARISONS = {
    "spread": "the largest difference in {} between its players",
    "mean_gap": "the mean difference in {} over all pairs of its players",
    "imbalance": "the difference in {} between its teams",
    "rematch": "the share of its pairs that met not long ago, by {}",
    "party_parity": "the difference in party sizes between its teams",
    "host_options": "the number of players missing to two who reach everyone, by {}",
    "same": "the share of its pairs that differ in {}",
    "overlap": "the share of its pairs without a common element of {}",
    "fullness": "the share of the seats beyond its minimum that stay free",
    "role_rank": "the mean rank of the roles that its players get",
}
PAIRS = {
    "enemies": "between enemies",
    "teammates": "between teammates",
    "all": "between any two of its players",
    "region": "to the region that is best for all",
}
MET = {
    "enemies": "meets as an enemy",
    "teammates": "has as a teammate",
    "all": "meets",
}
COUNTED = {
    "enemies": "as enemies",
    "teammates": "in one team",
    "all": "in one match",
}
GAPS_MAX = {
    "rematch": 1.0,
    "same": 1.0,
    "overlap": 1.0,
    "avoid": 1.0,
    "party_parity": 1.0,
    "fullness": 1.0,
    "role_rank": 1.0,
    "host_options": 2.0,
}
"""The largest gap that there is, of kinds that have one."""
UNITS = {
    "difference": "",
    "relative": " times one's own value",
    "percentile": " of all players, by percentile",
}
DEADLINES = {
    "bots": "then plays with bots in the empty seats",
    "expire": "then expires without a match",
    "keep": "and is then kept waiting",
}


def _decides(queue: Queue) -> str:
    """Say which policy decides, and where it is the default, why that one."""
    policy, reason = default_choice(queue)
    is_default = policy == queue.policy and queue.switchback is None
    return f"The policy {queue.policy} decides{f', {reason}' if is_default else ''}."


def describe(pool: Pool) -> Iterator[str]:
    """Yield sentences that say what a queue means.

    Args:
        pool: The queue at work, with the rules that its policy adds.
    """
    queue = pool.queue
    yield f"Queue {queue.name}: {_format(queue.format)}"
    if queue.format.is_variable:
        yield _minimum(queue)
    if queue.format.roles:
        yield _roles(queue.format)
    yield _decides(queue)
    for rule in queue.rules:
        yield _rule(rule)
    yield _quality(queue)
    yield _price(queue)
    if queue.handicap is not None:
        yield _handicap(queue.handicap)
    if queue.wait_max is None:
        yield "No ticket has a deadline."
    else:
        yield (
            f"A ticket waits at most {_seconds(queue.wait_max)}, {DEADLINES[queue.on_deadline]}."
        )
    if queue.commit_jitter:
        yield (
            "A new ticket is held back for a random time of up to "
            f"{_seconds(queue.commit_jitter)}, so that players who queue in the same second do "
            "not meet because of it."
        )
    if queue.accept is not None:
        yield from _asked(queue.accept)
    if queue.silent_after is not None:
        yield (
            f"A server drops a ticket whose client gives no sign of life for "
            f"{_seconds(queue.silent_after)}."
        )
    if queue.exclusive_match:
        yield (
            "A player of a live match may not queue again until it is finished, "
            f"or {_seconds(queue.match_max)} have passed."
        )


def warnings_of(scenario: Scenario, pools: list[Pool]) -> Iterator[str]:
    """Yield sentences about what works as written, and may not be what was meant.

    Args:
        scenario: The file.
        pools: Its queues at work.
    """
    for pool in pools:
        for warning in _warnings(pool.queue):
            yield f"queue {pool.name}: {warning}"
        for warning in timing_warnings(pool.queue):
            yield f"queue {pool.name}: {warning}"
    groups = list(dict.fromkeys(queue.group for queue in scenario.queues))
    if len(groups) > 1:
        yield (
            f"groups {', '.join(groups)} share no players: one ticket cannot wait in queues of "
            "two groups, and one player may wait in both"
        )
    yield from surprises(scenario, [(pool.queue, pool.policy) for pool in pools])
    yield from solving_warnings(scenario.solve_time, pools)


def _warnings(queue: Queue) -> Iterator[str]:
    if queue.wait_max is None:
        yield from _without_deadline(queue)
    if queue.wait_max is not None and queue.on_deadline == "keep" and not _always_widens(queue):
        yield 'on_deadline = "keep": a ticket that nobody may play waits for ever'
    if queue.target_wait is not None and not queue.policy.startswith("rolling"):
        yield f"target_wait: the policy {queue.policy} does not keep it; rolling does"
    is_free = queue.wait_price is None and queue.wait_max is None
    if is_free and queue.criteria and not _has_target(queue):
        yield (
            "a player-second of waiting costs 1 because neither wait_price nor wait_max is given; "
            "a criterion costs its weight at the most"
        )
    for rule in queue.rules:
        ends = last_change(rule.expand, rule.limit)
        if queue.wait_max is not None and queue.on_deadline != "keep" and ends > queue.wait_max:
            yield (
                f"the limit on {_compared(rule)} still widens when tickets end after "
                f"{_seconds(queue.wait_max)}"
            )
    if queue.accept is not None and list(queue.accept.cooldowns) != sorted(queue.accept.cooldowns):
        told = ", ".join(_seconds(each) for each in queue.accept.cooldowns)
        yield f"cooldowns fall ({told}): who fails more ready-checks waits less; let them rise"
    if queue.switchback is not None:
        yield (
            "switchback: its policies take turns in a server; a simulation plays the first one "
            "alone, and `evenmatch compare` plays each"
        )
    if queue.exclusive_match:
        yield (
            "exclusive_match: the game server must report the end of each match; in a simulation "
            "a match ends when one of its players comes again, and after "
            f"{_seconds(queue.match_max)} at the latest"
        )


def _without_deadline(queue: Queue) -> Iterator[str]:
    if any(rule.kind == "same" and not _widens_for_ever(rule) for rule in queue.rules):
        yield "no deadline: a ticket whose value nobody shares waits for ever"
    for rule in queue.rules:
        if rule.kind == "same" or _widens_for_ever(rule):
            continue
        if rule.kind in ("overlap", "avoid"):
            yield f"no deadline, and the rule {rule.kind} is never lifted: some may wait for ever"
            continue
        how = "does not widen" if rule.expand is None else "stops widening"
        yield (
            f"no deadline, and the limit on {_compared(rule)} {how}: some may wait for ever; "
            "set wait_max, or let the limit widen without max"
        )
    if not queue.rules:
        yield "no deadline: tickets that are too few for a match wait until others come"


def _always_widens(queue: Queue) -> bool:
    return all(_widens_for_ever(rule) for rule in queue.rules)


def _widens_for_ever(rule: Rule) -> bool:
    most = GAPS_MAX.get(rule.kind)
    if most is not None:
        return inverse(rule.limit, rule.expand)(most) < float("inf")
    return last_change(rule.expand, rule.limit) == float("inf")


def _compared(rule: Rule) -> str:
    """Return what a rule limits, in a word."""
    return rule.attribute or rule.kind


def _format(format_: Format) -> str:
    sizes = format_.players
    if format_.is_duel:
        seats = "one player against one"
    elif len(set(sizes)) == 1:
        seats = f"{len(sizes)} teams of {_count(sizes[0], 'player')}"
    else:
        seats = f"{len(sizes)} teams of {', '.join(map(str, sizes))} players"
    named = f", named {', '.join(format_.sides)}" if format_.sides else ""
    if format_.side_choice == "prefer":
        named += ", which players may wish for"
    allowed = format_.party_sizes or tuple(range(1, max(sizes) + 1))
    if format_.is_duel:
        return f"{seats}{named}."
    if allowed == (1,):
        return f"{seats}{named}; players queue alone."
    return f"{seats}{named}; parties of {_listed(allowed)} queue together and stay together."


def _minimum(queue: Queue) -> str:
    """Say how small a match may be, and who starts such a match."""
    form = queue.format
    least = form.least
    if max(form.players) == 1:
        teams = ""
    elif len(set(least)) == 1:
        teams = f", {_count(least[0], 'player')} in each team"
    else:
        teams = f", {', '.join(map(str, least[:-1]))} and {least[-1]} players by team"
    text = f"A match may start with {form.k_min} of its {form.k} players{teams}"
    if queue.wait_max is None or queue.on_deadline == "keep":
        return f"{text}."
    bots = ", with bots up to that number" if queue.on_deadline == "bots" else ""
    return f"{text}; at the latest when one of them has waited {_seconds(queue.wait_max)}{bots}."


def _roles(form: Format) -> str:
    team = ", ".join(f"{count} {name}" for name, count in form.roles)
    return f"A team is {team}; players say which of these they accept, or take any."


def _rule(rule: Rule) -> str:
    if rule.kind == "rematch":
        return _rematch(rule)
    if rule.kind in ("same", "overlap", "avoid"):
        return _kept(rule)
    if rule.kind in ("pair_limit", "household_limit"):
        return _widening(rule, _counted(rule))
    if rule.kind == "latency":
        what = f"the largest {rule.attribute} in ms {PAIRS[pairs_of(rule)]}"
    else:
        what = COMPARISONS[rule.kind].format(rule.attribute)
    unit = UNITS[rule.unit]
    return _widening(rule, f"At first {what} may be {_number(rule.limit)}{unit}")


def _counted(rule: Rule) -> str:
    """Return a rule that counts matches or players, before it widens."""
    limit, how = _number(rule.limit), COUNTED[pairs_of(rule)]
    if rule.kind == "pair_limit":
        within = _seconds(rule.within)
        return f"Two players meet {how} at most {limit} times within {within}, by {rule.attribute}"
    if pairs_of(rule) == "enemies":
        return (
            f"Players who share a {rule.attribute} are in one team, or at most {limit} of them "
            "play in one match"
        )
    return f"No more than {limit} of the players who share a {rule.attribute} play {how}"


def _widening(rule: Rule, text: str) -> str:
    """Return the sentence about a rule with how it widens, and who must accept."""
    expand = rule.expand
    if expand is None:
        return f"{text}, and that never widens."
    if expand.steps or expand.curve:
        points = expand.steps or expand.curve
        word = "from" if expand.steps else "at"
        steps = ", ".join(f"{_number(limit)} {word} {_seconds(wait)}" for wait, limit in points)
        text += f"; after waiting it widens to {steps}"
    else:
        text += f"; it widens by {_number(expand.rate)} for each second of waiting"
    top = "" if expand.max is None else f", up to {_number(expand.max)}"
    accepts = (
        "Every ticket of the match must accept."
        if rule.accept == "both"
        else "It is enough that one ticket of the match accepts."
    )
    return f"{text}{top}. {accepts}"


def _kept(rule: Rule) -> str:
    """Return a rule that is kept or broken, and from when on it is lifted."""
    text = {
        "same": f"All players of a match have the same {rule.attribute}",
        "overlap": f"All players of a match have an element of {rule.attribute} in common",
        "avoid": f"Nobody {MET.get(pairs_of(rule), '')} a player whom either lists in "
        f"{rule.attribute}",
    }[rule.kind]
    wait = inverse(rule.limit, rule.expand)(1.0)
    if wait == float("inf"):
        return f"{text}."
    who = "all tickets of the match have" if rule.accept == "both" else "one ticket has"
    return f"{text}, until {who} waited {_seconds(wait)}."


def _rematch(rule: Rule) -> str:
    count = "match" if rule.matches == 1 else f"{rule.matches} matches"
    text = f"Players who met as opponents in their last {count} may not meet again"
    wait = inverse(rule.limit, rule.expand)(1.0)
    return (
        f"{text}." if wait == float("inf") else f"{text} before both have waited {_seconds(wait)}."
    )


def _quality(queue: Queue) -> str:
    if not queue.criteria:
        return "No criterion is set, so only waiting costs and every match has quality 1."
    default = queue.format.k / len(queue.criteria)
    return (
        "A match is better the smaller "
        + "; ".join(_criterion(criterion, default) for criterion in queue.criteria)
        + "."
    )


def _criterion(criterion: Criterion, default: float) -> str:
    if criterion.kind == "latency":
        what = f"the mean {criterion.attribute} {PAIRS[pairs_of(criterion)]}"
    else:
        what = COMPARISONS[criterion.kind].format(criterion.attribute)
    weight = default if criterion.weight is None else criterion.weight
    return f"{what} (weight {_number(weight)})"


def _handicap(handicap: Handicap) -> str:
    text = (
        f"A weaker team gets {_number(handicap.factor)} for each 1 by which its mean "
        f"{handicap.attribute} is below that of the strongest"
    )
    if handicap.max is not None:
        text += f", at most {_number(handicap.max)}"
    if handicap.step:
        text += f", in multiples of {_number(handicap.step)}"
    return f"{text}."


def _asked(accept: ReadyCheck) -> Iterator[str]:
    """Yield what a ready-check asks of players, and what becomes of one that fails."""
    yield f"Every player has {_seconds(accept.seconds)} to accept a match before it is made."
    if accept.repair:
        yield (
            "If a player declines or does not answer, only they are replaced: the server looks "
            f"for others for {_seconds(accept.repair)}, and accepts a loss of quality of at most "
            f"{accept.loss_max:g}."
        )
    else:
        yield "If a player declines or does not answer, all others wait again with their age."


def _has_target(queue: Queue) -> bool:
    """Return whether the price of waiting follows from a mean wait, not from the file."""
    return queue.policy.partition(":")[0] == "rolling" and queue.target is not None


def _price(queue: Queue) -> str:
    if _has_target(queue):
        assert queue.target is not None
        return (
            f"Players wait {_seconds(queue.target)} on average if enough of them play; how good "
            f"a match must be to start follows from that."
        )
    return f"A second of one player's waiting costs {_number(queue.price)}."


def _listed(sizes: tuple[int, ...]) -> str:
    if len(sizes) > 2 and sizes == tuple(range(sizes[0], sizes[-1] + 1)):
        return f"{sizes[0]} to {sizes[-1]}"
    return " or ".join(map(str, sizes))


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _number(value: float) -> str:
    return f"{value:.6g}"


def _seconds(value: float) -> str:
    return f"{value:.6g} s"

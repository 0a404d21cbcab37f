"""Queues in plain sentences, and what may surprise about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches

import msgspec

from evenmatch.cli.rating_warnings import RATING, rating_warnings, systems_of
from evenmatch.cli.split_warnings import split_warnings
from evenmatch.cli.warnings import solving_warnings, surprises, timing_warnings
from evenmatch.criteria.base import Form
from evenmatch.criteria.condition.ages import attribute_tests
from evenmatch.criteria.expansion import last_change
from evenmatch.criteria.registry import KINDS, form_of, kind_of
from evenmatch.criteria.rules import Rules
from evenmatch.criteria.sentences import number, seconds
from evenmatch.engine.matching.pool import Pool
from evenmatch.explain.phrases import list_in_words
from evenmatch.model.queue import (
    Criterion,
    Format,
    Handicap,
    Queue,
    ReadyCheck,
    Rule,
)
from evenmatch.model.scenario import Scenario
from evenmatch.policies.default_choice import default_choice
from evenmatch.policies.hooks import rules_of, target_of
from evenmatch.policies.registry import parse_policy
from evenmatch.policies.shared.condition_search import players_of
from evenmatch.ratings.registry import parse_system

DEADLINES = {
    "bots": "then plays with bots in the empty seats",
    "expire": "then expires without a match",
    "keep": "and is then kept waiting",
}


BROUGHT = {Form.NUMBERS: "the number {}", Form.PLACES: "pings (attribute {})"}
"""What players must bring for a criterion or a rule; others bring "the attribute" of its name."""
RATED = (RATING, "rating_deviation")
"""Attributes that are parts of a rating; tickets get them from a ladder that is kept."""
USUAL = (RATING, *[each.attribute for each in KINDS.values() if each.attribute])
"""Attributes that have their names from us."""


def _decides(queue: Queue) -> str:
    """Say which policy decides, and where it is the default, why that one; or which take turns."""
    if queue.switchback is not None:
        turns = list_in_words(queue.switchback.policies)
        return f"The policies {turns} take turns, {seconds(queue.switchback.block)} at a time."
    policy, reason = default_choice(queue)
    return f"The policy {queue.policy} decides{f', {reason}' if policy == queue.policy else ''}."


def in_turns(queue: Queue) -> list[Queue]:
    """Return a queue with the rules that its policy adds; of a switchback, one for each policy.

    Args:
        queue: As configured.
    """
    specs = (queue.policy,) if queue.switchback is None else queue.switchback.policies
    added = [rules_of(parse_policy(spec), queue) for spec in specs]
    return [
        msgspec.structs.replace(queue, policy=spec, rules=queue.rules + rules)
        for spec, rules in zip(specs, added, strict=True)
    ]


def describe_all(queues: Sequence[Queue], pools: Sequence[Pool]) -> Iterator[str]:
    """Yield what each queue of a file means.

    Args:
        queues: As configured.
        pools: The same queues at work, in the same order.
    """
    systems = systems_of(queues)
    for queue, pool in zip(queues, pools, strict=True):
        target = target_of(pool.queue, pool.policy)
        yield "\n".join(_describe(queue, target, systems.get(queue.rated_in)))


def _describe(queue: Queue, target: float | None, system: str | None) -> Iterator[str]:
    """Yield what a queue means whose policy keeps a mean wait, and a system its ladder, or None."""
    yield f"Queue {queue.name}: {_format(queue.format)}"
    if queue.format.is_variable:
        yield _minimum(queue)
    if queue.format.roles:
        yield _roles(queue.format)
    yield _decides(queue)
    if queue.shadow is not None:
        yield f"A server runs {queue.shadow} beside it as a shadow, whose matches are only counted."
    yield from _limits(queue)
    yield _quality(queue)
    yield from _brings(queue, system)
    yield _price(queue, target)
    if queue.handicap is not None:
        yield _handicap(queue.handicap)
    if queue.wait_max is None:
        yield "No ticket has a deadline."
    else:
        end = DEADLINES[queue.on_deadline]
        yield f"A ticket waits at most {seconds(queue.wait_max)}, {end}{_beyond(queue)}."
    if queue.commit_jitter:
        yield (
            "A new ticket is held back for a random time of up to "
            f"{seconds(queue.commit_jitter)}, so that players who queue in the same second do "
            "not meet because of it."
        )
    if queue.accept is not None:
        yield from _asked(queue.accept)
    if queue.silent_after is not None:
        yield (
            f"A server drops a ticket whose client gives no sign of life for "
            f"{seconds(queue.silent_after)}."
        )
    if queue.exclusive_match:
        yield (
            "A player of a live match may not queue again in this group until it is finished, "
            f"or {seconds(queue.match_max)} have passed."
        )
    yield from _running(queue)


def _limits(queue: Queue) -> Iterator[str]:
    """Yield the rules of a queue and those that its policies add, each of these in its turn."""
    turns = in_turns(queue)
    is_same = all(turn.rules == turns[0].rules for turn in turns)
    for rule in turns[0].rules if is_same else queue.rules:
        yield kind_of(rule).sentence(rule)
    for turn in () if is_same else turns:
        for rule in turn.rules[len(queue.rules) :]:
            yield f"{kind_of(rule).sentence(rule)} This holds only in the turns of {turn.policy}."


def _running(queue: Queue) -> Iterator[str]:
    """Yield what a server does with the matches that are made."""
    if queue.allocation is not None:
        yield f"The hook {queue.allocation} finds a server for each match."
    if queue.backfill is not None:
        itself = (
            " by itself if it starts with free seats, and" if queue.backfill != "manual" else ""
        )
        yield f"A running match asks for players{itself} whenever the game's backend opens it."
        if queue.accept is not None:
            unasked = "" if queue.accept.newcomers else "not "
            yield f"Newcomers to a running match are {unasked}asked to accept it."


def warnings_of(scenario: Scenario, pools: list[Pool]) -> Iterator[str]:
    """Yield sentences about what works as written, and may not be what was meant.

    Args:
        scenario: The file.
        pools: Its queues at work.
    """
    for pool in pools:
        for warning in _warnings(pool.queue, target_of(pool.queue, pool.policy)):
            yield f"queue {pool.name}: {warning}"
        for warning in timing_warnings(pool.queue):
            yield f"queue {pool.name}: {warning}"
    yield from rating_warnings([pool.queue for pool in pools])
    groups = list(dict.fromkeys(queue.group for queue in scenario.queues))
    if len(groups) > 1:
        yield (
            f"groups {', '.join(groups)} share no players: one ticket cannot wait in queues of "
            "two groups, and one player may wait in both"
        )
    yield from split_warnings(scenario.queues, scenario.arrivals)
    yield from surprises(scenario, [(pool.queue, pool.policy) for pool in pools])
    yield from solving_warnings(scenario.solve_time, pools)


def _warnings(queue: Queue, target: float | None) -> Iterator[str]:
    """Yield what may surprise about a queue whose policy keeps a mean wait, or None."""
    for attribute in _brought(queue):
        if attribute not in USUAL and (near := get_close_matches(attribute, USUAL, cutoff=0.8)):
            yield f"tickets without {attribute} are refused; did you mean {near[0]}?"
    for each in queue.criteria:
        if each.weight == 0.0:
            on = f" on {each.attribute}" if each.attribute else ""
            yield (
                f"the criterion {each.kind}{on} has weight 0: no match is better or worse for it; "
                "leave it out, or give it a weight above 0"
            )
    if queue.wait_max is None:
        yield from _without_deadline(queue)
    if queue.wait_max is not None and queue.on_deadline == "keep" and not _always_widens(queue):
        yield 'on_deadline = "keep": a ticket that nobody may play waits for ever'
    if queue.target_wait is not None and target is None:
        yield f"target_wait: the policy {queue.policy} does not keep it; rolling does"
    if queue.target_wait is not None and target not in (None, queue.target_wait):
        yield (
            f"target_wait = {number(queue.target_wait)} has no effect: the policy {queue.policy} "
            "has a target_wait of its own; leave out one of the two"
        )
    is_free = queue.wait_price is None and queue.wait_max is None
    if is_free and queue.criteria and target is None:
        is_open = any(each.scale.kind == "none" for each in queue.criteria)
        unscaled = ', or without end by a scale of kind "none"' if is_open else ""
        yield (
            "a player-second of waiting costs 1 because neither wait_price nor wait_max is given; "
            f"a criterion costs its weight at the most{unscaled}"
        )
    for rule in queue.rules:
        ends = last_change(rule.expand, rule.limit)
        if queue.wait_max is not None and queue.on_deadline != "keep" and ends > queue.wait_max:
            yield (
                f"the limit on {rule.attribute or rule.kind} still widens when tickets end after "
                f"{seconds(queue.wait_max)}"
            )
    if queue.accept is not None and list(queue.accept.cooldowns) != sorted(queue.accept.cooldowns):
        told = ", ".join(seconds(each) for each in queue.accept.cooldowns)
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
            f"{seconds(queue.match_max)} at the latest"
        )


def _without_deadline(queue: Queue) -> Iterator[str]:
    stuck = [rule for rule in queue.rules if not kind_of(rule).widens_for_ever(rule)]
    stuck.sort(key=lambda rule: form_of(rule) is not Form.WORD)
    yield from dict.fromkeys(kind_of(rule).warning_without_deadline(rule) for rule in stuck)
    if not queue.rules:
        yield "no deadline: while there are too few tickets for a match, they wait"


def _always_widens(queue: Queue) -> bool:
    return all(kind_of(rule).widens_for_ever(rule) for rule in queue.rules)


def _format(format_: Format) -> str:
    sizes = format_.players
    if format_.is_duel:
        seats = "one player against one"
    elif len(set(sizes)) == 1:
        seats = f"{_count(len(sizes), 'team')} of {_count(sizes[0], 'player')}"
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
    least = form.least_players
    if max(form.players) == 1 or len(least) == 1:
        teams = ""
    elif len(set(least)) == 1:
        teams = f", {_count(least[0], 'player')} in each team"
    else:
        teams = f", {', '.join(map(str, least[:-1]))} and {least[-1]} players by team"
    is_ruled = any(rule.condition is not None for rule in queue.rules)
    fewest, most = players_of(Rules(queue)) if is_ruled else (form.k_min, form.k)
    if fewest == most:
        return f"A match has {_count(most, 'player')}{teams.replace(', ', ', at least ', 1)}."
    text = f"A match may start with {fewest} of its {most} players{teams}"
    if is_ruled or queue.wait_max is None or queue.on_deadline == "keep":
        return f"{text}."
    bots = ", with bots up to that number" if queue.on_deadline == "bots" else ""
    return f"{text}; at the latest when one of them has waited {seconds(queue.wait_max)}{bots}."


def _roles(form: Format) -> str:
    team = ", ".join(f"{count} {name}" for name, count in form.roles)
    return f"A team is {team}; players say which of these they accept, or take any."


def _quality(queue: Queue) -> str:
    if not queue.criteria:
        return "No criterion is set, so only waiting costs and every match has quality 1."
    default = queue.format.k / len(queue.criteria)
    return (
        "A match is better the smaller "
        + "; ".join(_criterion(criterion, default) for criterion in queue.criteria)
        + "."
    )


def _brought(queue: Queue) -> dict[str, str]:
    """Return what players must bring, in words by attribute."""
    found: dict[str, str] = {}
    compared: list[Criterion | Rule] = [*queue.criteria, *queue.rules]
    for each in compared:
        if each.attribute and kind_of(each).problem(None) is not None:
            words = BROUGHT.get(form_of(each), "the attribute {}").format(each.attribute)
            found[each.attribute] = "a rating" if each.attribute in RATED else words
    conditions = [rule.condition for rule in queue.rules if rule.condition is not None]
    for test in attribute_tests(conditions):
        if test.is_needed:
            found.setdefault(test.attribute, f"the attribute {test.attribute}")
    defaults = dict(queue.defaults)
    return {name: words for name, words in found.items() if name not in defaults}


def brought_to(queue: Queue, system: str | None) -> dict[str, str]:
    """Return what players must bring to a queue, in words by attribute.

    Args:
        queue: As configured.
        system: The rating system that keeps the queue's ladder, if there is one.
    """
    brought = {name: words for turn in in_turns(queue) for name, words in _brought(turn).items()}
    if system is not None:
        for each in RATED:
            brought.pop(each, None)
    return brought


def _brings(queue: Queue, system: str | None) -> Iterator[str]:
    """Yield what a queue does with ratings, and what players must bring all the same."""
    brought = brought_to(queue, system)
    if system is not None:
        newcomer = parse_system(system).newcomer
        is_rated = queue.rating is not None
        of = "," if is_rated else f" of ladder {queue.rated_in}, by {system},"
        gets = (
            f"player who comes without a rating gets the stored one{of} or a newcomer's: mean "
            f"{number(newcomer.mean)}, deviation {number(newcomer.deviation)}."
        )
        if is_rated:
            yield f"Outcomes of its matches change ratings, by {system}; a {gets}"
        elif brought != brought_to(queue, None):
            yield f"A {gets}"
    if brought:
        words = list_in_words([*dict.fromkeys(brought.values())])
        at_once = all(brought.keys() <= _brought(turn).keys() for turn in in_turns(queue))
        end = "" if at_once else ", or end when a policy that needs what they lack has its turn"
        yield f"Each player brings {words}; other tickets are refused{end}."


def _criterion(criterion: Criterion, default: float) -> str:
    what = kind_of(criterion).criterion_words(criterion)
    weight = default if criterion.weight is None else criterion.weight
    return f"{what} (weight {number(weight)})"


def _handicap(handicap: Handicap) -> str:
    text = (
        f"A weaker team gets {number(handicap.factor)} for each 1 by which its mean "
        f"{handicap.attribute} is below that of the strongest"
    )
    if handicap.max is not None:
        text += f", at most {number(handicap.max)}"
    if handicap.step:
        text += f", in multiples of {number(handicap.step)}"
    return f"{text}."


def _beyond(queue: Queue) -> str:
    """Return by how much ready-checks may prolong the longest wait, as the end of a sentence."""
    accept = queue.accept
    if accept is None or queue.on_deadline == "keep":
        return ""
    longest = max(accept.seconds, accept.long_seconds or 0.0)
    more = ", or longer while players are replaced" if accept.repair else ""
    return f"; ready-checks may take it beyond that, each by up to {seconds(longest)}{more}"


def _asked(accept: ReadyCheck) -> Iterator[str]:
    """Yield what a ready-check asks of players, and what becomes of one that fails."""
    yield f"Every player has {seconds(accept.seconds)} to accept a match before it is made."
    if accept.long_wait is not None and accept.long_seconds is not None:
        yield (
            f"A player who has waited {seconds(accept.long_wait)} has "
            f"{seconds(accept.long_seconds)}."
        )
    if accept.repair:
        yield (
            "If a player declines or does not answer, only they are replaced: the server looks "
            f"for others for {seconds(accept.repair)}, and accepts a loss of quality of at most "
            f"{accept.loss_max:g}."
        )
    else:
        yield "If a player declines or does not answer, all others wait again with their age."


def _price(queue: Queue, target: float | None) -> str:
    """Say what waiting costs, or which mean wait the policy keeps."""
    if target is not None:
        return (
            f"Players wait {seconds(target)} on average if enough of them play; how good "
            f"a match must be to start follows from that."
        )
    return f"A second of one player's waiting costs {number(queue.price)}."


def _listed(sizes: tuple[int, ...]) -> str:
    if len(sizes) > 2 and sizes == tuple(range(sizes[0], sizes[-1] + 1)):
        return f"{sizes[0]} to {sizes[-1]}"
    return " or ".join(map(str, sizes))


def _count(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"

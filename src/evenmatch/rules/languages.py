"""Recognise the language of a file of rules, and compile it for a queue."""

from __future__ import annotations

from evenmatch.errors import ConfigError
from evenmatch.rules.flexmatch.checker.match import Readings
from evenmatch.rules.flexmatch.compile import CompiledRuleSet, compile_rule_set
from evenmatch.rules.flexmatch.reader import load_rule_set
from evenmatch.rules.playfab.compile import compile_queue
from evenmatch.rules.playfab.queue import PlayFabQueue
from evenmatch.rules.playfab.reader import is_playfab_text, load_queues

AS_CHOSEN = Readings()


def load_rules(text: str | bytes, readings: Readings = AS_CHOSEN) -> CompiledRuleSet:
    """Return a FlexMatch rule set or a PlayFab queue, compiled for a queue.

    Args:
        text: JSON; its keys show which language it is.
        readings: How to interpret what FlexMatch leaves open.

    Raises:
        ConfigError: It has errors; the message lists them, one a line.
    """
    if is_playfab_text(text):
        return compile_queue(load_queue(text))
    return compile_rule_set(load_rule_set(text), readings)


def load_queue(text: str | bytes) -> PlayFabQueue:
    """Return the one PlayFab queue of a text.

    Raises:
        ConfigError: It has errors, or several queues.
    """
    queues = load_queues(text)
    if len(queues) > 1:
        names = ", ".join([queue.name for queue in queues[:5]])
        raise ConfigError(
            f"holds {len(queues)} queues ({names}), and one queue plays by one of them: evenmatch "
            "import playfab FILE --out DIR writes a file for each"
        )
    return queues[0]

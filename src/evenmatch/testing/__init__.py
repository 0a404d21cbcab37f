"""The public kit: prove a policy, a journal or a store of your own, and build tickets for tests.

`check_policy`, `check_journal` and `check_store` hold each to its promises; a promise is a function
that tries to break it. May import the engine, the policies and the journals; never the server.
Names are loaded when they are first used: `check_policy` needs no journal, and only
`evenmatch.testing.strategies` needs Hypothesis.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenmatch.testing.builders import new_ticket as new_ticket
    from evenmatch.testing.builders import player as player
    from evenmatch.testing.builders import queue as queue
    from evenmatch.testing.builders import rule as rule
    from evenmatch.testing.builders import ticket as ticket
    from evenmatch.testing.journals import check_journal as check_journal
    from evenmatch.testing.policies import check_policy as check_policy
    from evenmatch.testing.stores import check_store as check_store

# Public name -> the module that defines it; `__all__` repeats the keys as a literal.
_PUBLIC: dict[str, str] = {
    "check_journal": "evenmatch.testing.journals",
    "check_policy": "evenmatch.testing.policies",
    "check_store": "evenmatch.testing.stores",
    "new_ticket": "evenmatch.testing.builders",
    "player": "evenmatch.testing.builders",
    "queue": "evenmatch.testing.builders",
    "rule": "evenmatch.testing.builders",
    "ticket": "evenmatch.testing.builders",
}

__all__ = [
    "check_journal",
    "check_policy",
    "check_store",
    "new_ticket",
    "player",
    "queue",
    "rule",
    "ticket",
]


def __getattr__(name: str) -> object:
    """Load a public name from its module on first use."""
    module = _PUBLIC.get(name)
    if module is None:
        raise AttributeError(f"module 'evenmatch.testing' has no attribute {name!r}")
    value: object = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, loaded or not, with the module's own."""
    return sorted({*globals(), *__all__})

"""Policies that are code of the operator's own, and why they do not come over HTTP.

A SPEC with a dot imports a module and calls what it finds there: `subprocess.Popen:args=reboot`
would do as it says. Whoever writes the CONFIG file may run programs on this machine anyway; whoever
holds a key with the right to operate may not. So over HTTP only such policies can be named as the
CONFIG file, or whoever started the server from Python, has named already.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import Any

from evenmatch.errors import ConfigError
from evenmatch.model.queue import Queue


def check_foreign(specs: Iterable[object], known: Iterable[str]) -> None:
    """Refuse the SPEC of a policy from outside evenmatch that is not known.

    Args:
        specs: What came over HTTP, SPECs or anything else.
        known: SPECs that may be trusted.

    Raises:
        ConfigError: There is one; nothing was imported.
    """
    trusted = {_name(spec) for spec in known}
    for spec in specs:
        if isinstance(spec, str) and "." in _name(spec) and _name(spec) not in trusted:
            raise ConfigError(
                f"policy {_name(spec)[:64]} is not one of evenmatch's own, and code is not taken "
                f"over HTTP: name it in the CONFIG file first, as a policy, a shadow or a "
                f"switchback of any queue"
            )


def check_files(value: object) -> None:
    """Refuse the name of a file outside the folder of CONFIG.

    Args:
        value: The keys of a configuration that came over HTTP, or a part of them.

    Raises:
        ConfigError: There is one; nothing was read.
    """
    if isinstance(value, list):
        for each in value:
            check_files(each)
    elif isinstance(value, dict):
        for key, each in value.items():
            if key == "file" and isinstance(each, str) and not _is_inside(each):
                raise ConfigError(
                    f"file = {each[:64]!r} is outside the folder of CONFIG: over HTTP only files "
                    f"below it can be named"
                )
            check_files(each)


def _is_inside(file: str) -> bool:
    path = PurePath(file)
    return not path.is_absolute() and ".." not in path.parts and "\0" not in file


def specs_in(document: Mapping[str, Any]) -> Iterator[object]:
    """Yield whatever stands in the places of SPECs, right or wrong."""
    queues = document.get("queue")
    for queue in queues if isinstance(queues, list) else ():
        if isinstance(queue, dict):
            yield from (queue.get("policy"), queue.get("shadow"))
            switchback = queue.get("switchback")
            arms = switchback.get("policies") if isinstance(switchback, dict) else None
            yield from arms if isinstance(arms, list) else ()


def specs_of_queues(queues: Iterable[Queue]) -> Iterator[str]:
    """Yield the SPECs that queues name."""
    for queue in queues:
        yield queue.policy
        if queue.shadow is not None:
            yield queue.shadow
        if queue.switchback is not None:
            yield from queue.switchback.policies


def _name(spec: str) -> str:
    return spec.partition(":")[0].strip()

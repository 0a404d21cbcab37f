"""`evenmatch warm`: compile kernels before they are needed."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter

from evenmatch.cli.options import Whole
from evenmatch.cli.progress import progress
from evenmatch.config.files import load_server, load_tenants
from evenmatch.errors import ConfigError, NotSupported
from evenmatch.model.queue import Queue
from evenmatch.solvers.kernel import check_installed, defer
from evenmatch.warming import Warming, missing, processors

LINES = 20
"""Kernels after which a line says how far it is, where standard error is no terminal."""


def warm(
    *configs: Path,
    jobs: Whole | None = None,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> None:
    """Compile the solvers for this machine now, so that no later command has to wait for it.

    The compiled code is stored in $XDG_CACHE_HOME/evenmatch or ~/.cache/evenmatch; it is compiled
    again only when a new version of evenmatch changes it.

    For example:

        evenmatch warm
        evenmatch warm scenarios/hero_5v5.toml scenarios/duel.toml

    Args:
        configs: Compile only what the queues of these scenarios or configurations need.
        jobs: Number of parallel processes; by default one per processor.
        json: Print one JSON object.
    """
    if jobs is not None and jobs < 1:
        raise ConfigError(f"--jobs must be at least 1, got {jobs}")
    check_installed()
    from evenmatch.solvers.kernel_cache import alone, cache_folder, unkept

    if problem := unkept():
        raise NotSupported(problem)
    folder = cache_folder()
    # Other processes compile; here, reading a configuration must not.
    with defer(load_kept=False):
        queues = [queue for each in configs for queue in _queues(each)] if configs else None
    began = time.monotonic()
    # Another process that compiles is waited for: most of what is missing now will be there.
    with alone():
        warming = Warming(*missing(queues))
        with progress("Compiling solvers for this machine", max(warming.total, 2)) as advance:
            warming.run(jobs or processors(), lambda: _step(warming, advance))
    seconds = time.monotonic() - began
    if json:
        told = {"compiled": warming.total, "seconds": seconds, "folder": folder}
        sys.stdout.write(msgspec.json.encode(told).decode() + "\n")
    elif warming.total:
        print(f"Compiled {warming.total} kernels in {seconds:.0f} s; they are kept in {folder}")
    else:
        print(f"All kernels were compiled before; they are kept in {folder}")


def _step(warming: Warming, advance: Callable[[], None]) -> None:
    """Show that one more kernel is compiled."""
    advance()
    if not sys.stderr.isatty() and warming.done % LINES == 0:
        print(f"evenmatch: compiling solvers for this machine, {warming}", file=sys.stderr)


def _queues(config: Path) -> list[Queue]:
    """Return the queues of a configuration, or of all games that it names."""
    named = [Path(each.config) for each in load_tenants(config)]
    return [queue for path in named or [config] for queue in load_server(path)[0]]

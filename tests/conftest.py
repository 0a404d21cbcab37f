"""Options that all tests share, and the line on what a run left out."""

import gc
import os
import signal
from typing import Any

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from tests.extent import IS_LONG, extent
from tests.journal_servers import nats_server, postgres_server

__all__ = ["nats_server", "postgres_server"]

SEEDS_DEFAULT = extent(2, 5)
LONG = pytest.StashKey[int]()
NAME_MOST = 120
"""Characters of a value that may name a test."""

# A busy machine is no fault of the code: no example has a deadline, and none is too slow.
settings.register_profile(
    "short", deadline=None, max_examples=20, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("long", parent=settings.get_profile("short"), max_examples=200)
settings.load_profile("long" if IS_LONG else "short")


def pytest_configure() -> None:
    # What is collected stays to the end: looking through it again and again finds nothing.
    gc.disable()
    # What nohup or a shell's & told this process to ignore, the processes that tests start would
    # ignore too. A handler that does nothing is the same for this one and is not passed on.
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_SETMASK, ())


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    # One more than there are processors: some tests wait for a server, and one can work meanwhile.
    has_affinity = hasattr(os, "sched_getaffinity")
    return 1 + (len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--seeds",
        type=_positive,
        default=SEEDS_DEFAULT,
        metavar="N",
        help=f"how many seeds a test over many seeds tries (default {SEEDS_DEFAULT})",
    )


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    # A long text is no name. Keys and tokens, made anew by each process, would be another one in
    # each, and processes that share the tests must collect the same.
    return argname if isinstance(val, str | bytes) and len(val) > NAME_MOST else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # What draws its examples, or counts its seeds, tries more of them in make test-full.
    for item in items:
        if is_hypothesis_test(getattr(item, "obj", None)) or "seed" in getattr(
            item, "fixturenames", ()
        ):
            item.add_marker("more")


def pytest_collection_finish(session: pytest.Session) -> None:
    if getattr(session.config.option, "loadgroup", False) and any(
        item.get_closest_marker("xdist_group") and "@" not in item.nodeid for item in session.items
    ):
        raise pytest.UsageError(
            "pytest-xdist does not keep groups of tests together with this pytest: "
            "install the versions of constraints.txt"
        )
    gc.collect()
    gc.freeze()
    # Few tests make cycles: looking for them after every 700 objects takes a thirtieth of the time.
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


def pytest_deselected(items: list[pytest.Item]) -> None:
    if items:
        stash = items[0].config.stash
        long = sum(item.get_closest_marker("long") is not None for item in items)
        stash[LONG] = stash.get(LONG, 0) + long


def pytest_sessionfinish(session: pytest.Session) -> None:
    # With pytest-xdist the workers choose: each one sees all tests and leaves out the same.
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["long"] = session.config.stash.get(LONG, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    node.config.stash[LONG] = getattr(node, "workeroutput", {}).get("long", 0)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    left = []
    if long := config.stash.get(LONG, 0):
        left.append(f"{long} long tests (make test-long)")
    skipped = terminalreporter.stats.get("skipped", [])
    if browser := sum("tests/browser" in each.nodeid for each in skipped):
        left.append(f"{browser} browser tests (make test-browser)")
    if left:
        terminalreporter.write_line(f"Left out: {', '.join(left)}.")


def seed_count(config: pytest.Config) -> int:
    """Return the value of --seeds.

    A test reads it with `seed_count(request.config)`; a module whose tests take an argument
    `seed` runs them once for each seed with

        def pytest_generate_tests(metafunc):
            if "seed" in metafunc.fixturenames:
                metafunc.parametrize("seed", range(seed_count(metafunc.config)))
    """
    return int(config.getoption("--seeds"))


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError(f"--seeds must be at least 1, got {value}")
    return value

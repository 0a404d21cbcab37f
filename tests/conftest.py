"""Options that all tests share."""

import pytest

SEEDS_DEFAULT = 5


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--seeds",
        type=_positive,
        default=SEEDS_DEFAULT,
        metavar="N",
        help=f"how many seeds a test over many seeds tries (default {SEEDS_DEFAULT})",
    )


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

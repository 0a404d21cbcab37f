"""Take each protection away in turn: python -m tests.fault.controls [--seeds 200] [--json OUT]."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tests.fault.simulated.planted import CONTROLS
from tests.fault.simulated.run import Setting, run
from tests.fault.simulated.shrink import invariants


def first_miss(name: str, seeds: int) -> str | None:
    """Return which seed misses a protection and how; None if no seed does."""
    setting = Setting(weakness=CONTROLS[name].weakness, mutant=CONTROLS[name].mutant)
    for seed in range(seeds):
        outcome = run(seed, setting)
        if outcome.violations:
            return f"seed {seed} breaks {', '.join(sorted(invariants(outcome)))}"
    return None


def main(words: Sequence[str] | None = None) -> int:
    """Run all controls; return 1 if the server does without one and nobody notices."""
    parser = argparse.ArgumentParser(prog="python -m tests.fault.controls", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="seeds of each at most")
    parser.add_argument("--json", type=Path, help="write what was found to this file as well")
    given = parser.parse_args(words)
    found = {name: first_miss(name, given.seeds) for name in sorted(CONTROLS)}
    for name, text in found.items():
        print(f"without {name}: {text or 'nothing is noticed'}", flush=True)
    if given.json is not None:
        told = {name: text or "nothing was noticed" for name, text in found.items()}
        given.json.write_bytes(msgspec.json.encode(told))
    return int(None in found.values())


if __name__ == "__main__":
    sys.exit(main())

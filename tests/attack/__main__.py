"""Attack real servers and print what became of them: `make attack`, bounded in time.

`make attack ARGS="--only overload --seconds 20"` repeats one, longer; `--only kills --seconds 300`
kills a server for ten minutes, `--only power --seconds 300` lets the power fail for five, and
`--only mutations --count 10000` starts on as many damaged data directories.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter

from tests.attack.descriptors import descriptors
from tests.attack.files import files
from tests.attack.health import health
from tests.attack.inputs import config, repair, restart
from tests.attack.kills import kills
from tests.attack.mutations import mutations
from tests.attack.overload import overload
from tests.attack.power import power
from tests.attack.report import Row, table

Attack = Callable[[Path, float], list[Row]]
ATTACKS: dict[str, Attack] = {
    "overload": overload,
    "health": health,
    "descriptors": descriptors,
    "files": files,
    "repair": repair,
    "config": config,
    "restart": restart,
    "kills": kills,
    "power": power,
    "mutations": mutations,
}
SECONDS = 8.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="make attack", description=__doc__)
    parser.add_argument("--only", choices=ATTACKS, action="append", help="repeat only this one")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each flood")
    parser.add_argument("--count", type=int, default=0, help="mutations, in place of seconds")
    given = parser.parse_args()
    attacks = {**ATTACKS, "mutations": partial(mutations, count=given.count)}
    rows: list[Row] = []
    for name in given.only or ATTACKS:
        began = perf_counter()
        with tempfile.TemporaryDirectory(prefix="evenmatch-attack-") as folder:
            rows += attacks[name](Path(folder), given.seconds)
        print(f"{name}: {perf_counter() - began:.0f} s", file=sys.stderr)
    print(table(rows))
    return 0 if all(row.is_good for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

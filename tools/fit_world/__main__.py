r"""Fit the world model to measured files: `python -m tools.fit_world HOURS CITIES PINGS`.

    python -m tools.fit_world dota2_region_hour.csv.gz cities.csv.gz city_ping.csv.gz \
        --out world.json --report world.html

HOURS has the columns `region`, `hour_utc`, `matches`; CITIES `city`, `country`, `lat`, `lon`,
`population`; PINGS `from_city`, `to_city`, `rtt_avg_ms`. It prints the fit and how far it is off.
What it writes with --out is what `evenmatch/data/world.json` holds.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from evenmatch.errors import ArrivalsError, NotSupported
from tools.fit_world.fit import encoded, fit, read
from tools.fit_world.report import lines, render


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit, print, and write what was asked for; the exit code is 2 for bad input."""
    parser = argparse.ArgumentParser(prog="python -m tools.fit_world", description=DOC)
    parser.add_argument("hours", help="matches by region and UTC hour, CSV")
    parser.add_argument("cities", help="cities, CSV")
    parser.add_argument("pings", help="round trips between cities, CSV")
    parser.add_argument("--out", type=Path, help="write the parameters here, JSON")
    parser.add_argument("--report", type=Path, help="write a page with figures and plots here")
    given = parser.parse_args(arguments)
    try:
        measured = read(given.hours, given.cities, given.pings)
        model = fit(measured)
        outputs: Mapping[Path | None, bytes] = {given.out: encoded(model)}
        if given.report is not None:
            outputs = {**outputs, given.report: render(model, measured).encode()}
        for path, data in outputs.items():
            if path is not None:
                path.write_bytes(data)
    except (ArrivalsError, NotSupported, OSError) as error:
        print(f"fit_world: {error}", file=sys.stderr)
        return 2
    print("\n".join(lines(model, measured)))
    return 0


DOC = "Fit the world model to measured files and say how far it is off."

if __name__ == "__main__":
    sys.exit(main())

"""`evenmatch reproduce`: do a paper again, statement by statement.

Reproductions are the package `papers`, beside `src` in the repository; the wheel does not have it.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated

from cyclopts import Parameter

import evenmatch
from evenmatch.cli.options import Whole
from evenmatch.errors import NotSupported

CHECKOUT = Path(evenmatch.__file__).parents[2]
"""The repository, if this is the package in its `src`."""


def reproduce(
    paper: str,
    /,
    *,
    quick: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    out: Path | None = None,
    seed: Whole = 0,
    only: Annotated[tuple[str, ...], Parameter(negative="", show_default=False)] = (),
) -> int:
    """Check a paper: compare each of its statements with computed and simulated results.

    You need evenmatch's repository for this; if you have only the package, the command says how to
    get it. If parts fail, the command names them on standard error, prints the others and exits
    with 1.

    For example:

        evenmatch reproduce schlup --quick --out schlup

    Args:
        paper: `schlup` (Automatic Game Matching), `gamedev` (the thread "Matching players in an
            online 1vs1 game"), `galactron` (the blog on the matchmaking of Awesomenauts), `wu`
            (Dynamic Matching With Teams) or `xu` (Rule Designs for Optimal Online Game
            Matchmaking).
        quick: Use fewer and shorter sequences, which takes one minute on one core instead of many.
            The output says what is left out.
        json: Print one JSON object and nothing else.
        out: Write report.html, rows.csv, rows.json and the rows' figures and scenarios to this
            folder.
        seed: Sequence i is drawn with the seed SEED + i.
        only: Check only the rows with this id, such as schlup.table3. May be repeated.
    """
    return int(_papers(paper).run(paper, quick=quick, seed=seed, only=only, out=out, json=json))


def _papers(paper: str) -> ModuleType:
    """Return what runs reproductions; only those beside this very source fit it.

    Raises:
        NotSupported: This is no checkout.
    """
    if not (CHECKOUT / "papers" / "command.py").is_file():
        raise NotSupported(
            "reproductions are not part of what pip installs: in a checkout of the repository "
            f"run pip install -e '.[all]', then evenmatch reproduce {paper}"
        )
    if str(CHECKOUT) not in sys.path:
        # First, so that nothing that is installed takes its place; processes that help inherit it.
        sys.path.insert(0, str(CHECKOUT))
    return import_module("papers.command")

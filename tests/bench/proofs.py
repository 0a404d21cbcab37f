"""Gaps between plans of 3v3 batches and what is proved of any plan, by the public way."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import evenmatch
from evenmatch.lab.solve import search, solution
from tests.bench.report import Row, Setting
from tests.shared import ROOT

SECONDS = {30: 30, 99: 30, 300: 60}
"""Seconds of a proof by players of the batch."""
AIMS = {30: "0", 99: "<= 0.34", 300: "<= 0.6"}
BATCHES = 3


def run(setting: Setting) -> Iterator[Row]:
    """Prove three batches of each size, one where it must be quick.

    The seconds are those of the processor, in place of the clock's, so that a busy machine gets as
    much done in them.
    """
    busy = SimpleNamespace(perf_counter=time.process_time)
    shared = Path(os.environ.get("EVENMATCH_SHARED", ROOT.parent / "shared"))
    checker = shared / "batch" / "galactron.py"
    for players, seconds in SECONDS.items():
        gaps, spent = [], []
        for seed in range(1, 2 if setting.quick else 1 + BATCHES):
            path = setting.data / f"proof_{players}_{seed}.npz"
            numbers = [str(players), "3", str(seed)]
            subprocess.run([sys.executable, checker, "generate", *numbers, path], check=True)
            began = time.process_time()
            with patch.object(solution, "time", busy), patch.object(search, "time", busy):
                found = evenmatch.solve(path, bound=True, bound_seconds=seconds)
            spent.append(time.process_time() - began)
            assert found.bound is not None, found.summary
            assert found.quality is not None, found.summary
            gaps.append(found.bound - found.quality)
        name = f"3v3, {players} players, proof of {seconds} s"
        yield Row(f"{name}: gap", tuple(gaps), "points", AIMS[players])
        yield Row(f"{name}: processor time", tuple(spent), "s")

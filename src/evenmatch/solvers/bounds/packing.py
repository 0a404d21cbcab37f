"""Set packing as a linear or integer programme: the only module that calls HiGHS."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from evenmatch.errors import NotSupported
from evenmatch.solvers.teams.batch import Floats, Ints

SEED = 1
PRESOLVED_MOST = 10_000
"""Columns beyond which a choice is not simplified first: that takes minutes for a hundred thousand,
and nothing can end it early."""
FEASIBLE = 2
"""How HiGHS says that a solution keeps to all constraints."""


class Prices(NamedTuple):
    """The solution of a linear packing.

    Args:
        value: Total worth of the packing.
        parties: Shape (rows,): price of each row, not negative.
        match: Price of one match.
        share: Shape (columns,): the fraction of each column that is taken.
    """

    value: float
    parties: Floats
    match: float
    share: Floats


class PackingSolution(NamedTuple):
    """The solution of an integer packing.

    Args:
        bound: No packing is worth more, to the solver's tolerance of 1e-6.
        columns: The columns of the best one found; empty if none was.
    """

    bound: float
    columns: Ints


class SetPacking:
    """Choose exactly `matches` columns of greatest worth; the uses of each row are limited to 1.

    Args:
        rows: Number of rows.
        matches: Columns to choose.

    Raises:
        NotSupported: highspy is not installed.
    """

    def __init__(self, rows: int, matches: int) -> None:
        try:
            import highspy as solver
        except ImportError as error:
            raise NotSupported(
                "a proof of quality needs the package highspy; install evenmatch[solve]"
            ) from error
        highspy: Any = solver
        self._highs: Any = highspy.Highs()
        self._whole: Any = highspy.HighsVarType.kInteger
        for option, value in (("output_flag", False), ("threads", 1), ("random_seed", SEED)):
            self._highs.setOptionValue(option, value)
        self.rows, self.columns = rows, 0
        nothing = np.zeros(0)
        none = np.zeros(0, dtype=np.int32)
        lower = np.append(np.full(rows, -np.inf), matches)
        upper = np.append(np.ones(rows), matches)
        starts = np.zeros(rows + 1, dtype=np.int32)
        self._highs.addRows(rows + 1, lower, upper, 0, starts, none, nothing)

    def add(self, worths: Floats, members: Ints) -> None:
        """Add columns.

        Args:
            worths: Shape (new,): worth of each.
            members: Shape (new, most): its rows, -1 where there are fewer.
        """
        new = len(worths)
        filled = np.hstack([members, np.full((new, 1), self.rows)])
        used = filled >= 0
        lengths = used.sum(axis=1)
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int32)
        index = filled[used].astype(np.int32)
        self._highs.addCols(
            new, -worths, np.zeros(new), np.full(new, np.inf), len(index), starts, index,
            np.ones(len(index)),
        )  # fmt: skip
        self.columns += new

    def solve(self) -> Prices:
        """Return the best fractional packing, and the prices that prove it."""
        self._highs.run()
        solution = self._highs.getSolution()
        duals = -np.array(solution.row_dual)
        return Prices(
            value=-float(self._highs.getInfo().objective_function_value),
            parties=np.maximum(duals[: self.rows], 0.0),
            match=float(duals[self.rows]),
            share=np.array(solution.col_value),
        )

    def choose(
        self, nodes: int, keep_going: Callable[[], bool], seconds: float = math.inf
    ) -> PackingSolution:
        """Return the best integral packing that a search of some nodes finds.

        Args:
            nodes: Most nodes of the search tree.
            keep_going: Called now and then; False ends the search.
            seconds: Ends the linear programmes, in which `keep_going` is not called.
        """
        every = np.arange(self.columns, dtype=np.int32)
        kinds = np.full(self.columns, self._whole)
        self._highs.changeColsIntegrality(self.columns, every, kinds)
        for option, value in (
            ("mip_rel_gap", 0.0),
            ("mip_abs_gap", 1e-7),
            ("mip_max_nodes", nodes),
            ("time_limit", max(0.0, seconds)),
            ("presolve", "choose" if self.columns <= PRESOLVED_MOST else "off"),
        ):
            self._highs.setOptionValue(option, value)

        def ask(event: Any) -> None:
            if not keep_going():
                event.interrupt()

        self._highs.cbMipInterrupt.subscribe(ask)
        self._highs.run()
        self._highs.cbMipInterrupt.clear()
        share = np.array(self._highs.getSolution().col_value)
        info = self._highs.getInfo()
        is_found = int(info.primal_solution_status) == FEASIBLE
        chosen = np.flatnonzero(share > 0.5) if is_found else np.zeros(0, dtype=np.int64)
        return PackingSolution(-float(info.mip_dual_bound), chosen)

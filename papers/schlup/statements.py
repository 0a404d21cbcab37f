"""The statements of "Automatic Game Matching"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from papers.schlup.other_rates import HALVES, PROPORTION, RAISING, SIMILAR, SMALLER
from papers.shared.findings import Row
from papers.shared.words import figure
from papers.statements.saying import Judge, Judgement, PaperStatement

SLACK = 0.03
"""Relative error that we allow to a formula that the paper calls an approximation."""
UNIT = 0.005
"""Half a unit of the last digit of Table 3."""
TEN_PERCENT = f"within {100 * SIMILAR:g} %"
BOTS = (
    "While computer players are rare: the formula leaves them out, and the players who wait for "
    "the deadline with them."
)
CELLS = (
    "With D criteria of r ranges each there are r^D queues, so that a queue's rate is a / r^D and "
    "not a / r. The print puts r where r^D belongs, which is the same for one criterion alone."
)
EITHER_WAY = (
    "The formula gives a real number; rounded up or down, its cost is within 3 % of the cheapest "
    "of 1 to 10 matches or queues, which were simulated."
)
AVERAGES = (
    "The paper does not say how the table averages, nor what rising rates are. We take the mean "
    "of the six ratios to the optimum, and a rate that grows in proportion to time; each row of "
    "the table below names the reading that comes nearest."
)


def _says(name: str, says: str, **more: object) -> PaperStatement:
    return PaperStatement(id=f"schlup.{name}", says=says, **more)  # type: ignore[arg-type]


def _ours(name: str, says: str, **more: str) -> PaperStatement:
    return PaperStatement(id=f"schlup.{name}", says=says, is_ours=True, **more)  # type: ignore[arg-type]


def _line(algorithm: str, printed: float, **more: object) -> PaperStatement:
    says = f"Table 3: {algorithm} costs {printed:.2f} times the optimum."
    return _says("table3", says, what=algorithm, key="algorithm", judge=_of_table3, **more)


def _curve(number: int) -> Judge:
    """Return the judge of a formula over a parameter, drawn in a figure."""

    def judge(figures: Sequence[Row], _: Mapping[str, Sequence[Row]]) -> Judgement:
        own = [row for row in figures if row.printed is not None]
        good = [row for row in own if _error(row) <= SLACK]
        last = max(own, key=_error)
        if not _error(last):
            return Judgement(
                "holds", f"({number}) within three standard errors at {len(own)} points."
            )
        if len(good) == len(own):
            return Judgement("holds if", (
                f"Taken as the approximation that it is called: ({number}) is within chance and "
                f"{100 * _error(last):.1f} % at all {len(own)} points."
            ), last)  # fmt: skip
        parts = []
        for rate in dict.fromkeys(row.params["rate"] for row in own):
            fit = [row.params["parameter"] for row in good if row.params["rate"] == rate]
            worst = max((row for row in own if row.params["rate"] == rate), key=_error)
            reach = f"up to {max(fit)}" if fit else "nowhere"
            parts.append(
                f"at rate {rate:g} {reach}, off by {100 * _error(worst):.0f} % at "
                f"{worst.params['parameter']}"
            )
        return Judgement("holds if", (
            f"While the parameter is small: ({number}) is within 3 % {'; '.join(parts)}. Beyond, "
            "rounds and queues fill too slowly for the deadline, which the formula leaves out."
        ), last)  # fmt: skip

    return judge


def _error(row: Row) -> float:
    """Return the relative error of a formula beyond what chance explains."""
    assert row.printed is not None
    assert row.simulated is not None
    gap = abs(row.printed - row.simulated) - 1.5 * (row.half_width or 0.0)
    return max(gap, 0.0) / row.simulated


def _of_table3(figures: Sequence[Row], _: Mapping[str, Sequence[Row]]) -> Judgement:
    """Judge a line of Table 3 by the reading that is closest to it."""
    own = [row for row in figures if row.printed is not None]
    nearest = min(own, key=lambda row: abs((row.simulated or 0.0) - (row.printed or 0.0)))
    printed, value = nearest.printed or 0.0, nearest.simulated or 0.0
    values = [row.simulated or 0.0 for row in own]
    words = f"{_reading(nearest)}: {figure(value, nearest.half_width, 3)}"
    between = f"All readings lie between {min(values):.2f} and {max(values):.2f}."
    # Half a unit of the table's last digit does not count as a difference.
    if abs(printed - value) <= (nearest.half_width or 0.0) + UNIT:
        return Judgement("holds if", f"If the table averages by {words}. {between}", nearest)
    where = "between two readings" if min(values) < printed < max(values) else "below all readings"
    why = (
        f"By {100.0 * (value / printed - 1.0):+.1f} %, {where}; the nearest is {words}. {between} "
        "The paper's sequences, its ramp and how it chose parameters are not known, which is the "
        "likely reason."
    )
    return Judgement("differs", why, nearest)


def _undefined(figures: Sequence[Row], _: Mapping[str, Sequence[Row]]) -> Judgement:
    """Return how the table's averages are interpreted; its optimum is not printed."""
    del figures
    return Judgement("undefined in the source", AVERAGES)


def _proportion(figures: Sequence[Row], _: Mapping[str, Sequence[Row]]) -> Judgement:
    """Judge that the costs of A_PM, A_MQ and A_DW keep their proportion at smaller rates."""
    worst = {name: _farthest(own) for name, own in _by("algorithm", figures).items()}
    near = [row for row in worst.values() if _change(row) <= SIMILAR]
    far = [row for row in worst.values() if _change(row) > SIMILAR]
    same = "; ".join(f"{row.params['algorithm']} {_moved(row)}" for row in near)
    other = "; ".join(f"{row.params['algorithm']} {_moved(row)}" for row in far)
    if not far:
        return Judgement("holds if", f"If {TEN_PERCENT} is more or less the same: {same}.")
    if not near:
        return Judgement("differs", f"Beside A_MQ, from rate 10 on: {other}.", far[0])
    return Judgement("holds if", (
        f"Of A_MQ and A_DW alone. Beside A_MQ, from rate 10 on: {same}; but {other}, since rounds "
        "of several matches fill too slowly at small rates and those of one match are A_G."
    ), far[0])  # fmt: skip


def _raising(figures: Sequence[Row], _: Mapping[str, Sequence[Row]]) -> Judgement:
    """Judge that raising rates cost what constant ones do."""
    worst = {ramp: _farthest(own) for ramp, own in _by("ramp", figures).items()}
    told = "; ".join(
        f"by {ramp} {_moved(row)} at the most ({row.params['algorithm']}, mean rate "
        f"{row.params['rate']:g})"
        for ramp, row in worst.items()
    )
    near = [ramp for ramp, row in worst.items() if _change(row) <= SIMILAR]
    telling = _farthest(figures)
    if not near:
        return Judgement("differs", f"A match costs with a ramp {told}.", telling)
    ramps = f"If {TEN_PERCENT} is similar"
    if len(near) < len(worst):
        ramps += f" and the rate rises in proportion to {' or '.join(near)}"
    return Judgement("holds if", f"{ramps}. With a ramp a match costs: {told}.", telling)


def _by(key: str, rows: Sequence[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(str(row.params[key]), []).append(row)
    return found


def _change(row: Row) -> float:
    return abs((row.simulated or 0.0) - 1.0)


def _farthest(rows: Sequence[Row]) -> Row:
    return max(rows, key=_change)


def _moved(row: Row) -> str:
    width = 100.0 * (row.half_width or 0.0)
    return f"{100.0 * ((row.simulated or 0.0) - 1.0):+.1f} ± {width:.1f} %"


def _reading(row: Row) -> str:
    mean = "the mean of ratios" if row.params["average"] == "MoR" else "the ratio of sums"
    way = "" if row.params["parameters"] == "per setting" else ", one parameter for all settings"
    start = str(row.params["algorithm"]).partition(", ")[2]
    return f"{mean}, ramp by {row.params['ramp']}{way}{', ' + start if start else ''}"


SAYINGS = (
    _says("2", "(2): a match of A_G costs k (k - 1) / (k + 1) + k (k - 1) / (2 a wait_max).",
          condition=BOTS, slack=SLACK),
    _says("3", "(3): the probability that a match of A_G has a computer player.",
          mended="Right: the sum runs over x = 0 to k - 2. The clock starts with the first player, "
          "so that computer players come when at most k - 2 more arrive; printed, the sum starts "
          "and ends one too late."),
    _says("4", "(4): a bound on the relative error of (2).",
          mended="Right: 2 k Prob / cost. A match with computer players costs at most 2 k, so "
          "that the error is that times their probability; the printed square doesn't follow."),
    _says("5", "(5): a match of A_PM costs as the formula says.", slack=SLACK),
    _says("6", "(6): the best number of players per round.", note=EITHER_WAY),
    _says("7", "(7): a match of A_MQ costs as the formula says, for any number of criteria.",
          mended="Right: k (k - 1) / (r (k + 1)) + r^D k (k - 1) / (2 a wait_max). " + CELLS),
    _says("8", "(8): the probability that a queue of A_MQ needs other queues or computer players.",
          mended="Right: the sum runs over x = 0 to k - 2, as in (3). Even so it is an "
          "approximation, since players who help out are missing in their own queue."),
    _says("9", "(9): the best number of queues.", note=EITHER_WAY),
    _says("table1", "Table 1: the best number of queues, for any number of criteria.",
          mended="Right: (2 a wait_max / (D (k + 1)))^(1 / (D + 1)). " + CELLS),
    *(
        _says(name, f"{name.capitalize()[:-1]} {name[-1]}: ({number}) gives the cost of "
              f"{algorithm} over its parameter.", what=algorithm, key="algorithm",
              judge=_curve(number))
        for name in ("figure2", "figure3")
        for algorithm, number in (("A_G", 2), ("A_PM", 5), ("A_MQ", 7))
    ),
    *(
        _ours(name, f"{name.capitalize()[:-1]} {name[-1]}: {algorithm}, for which the paper has "
              "no formula.", what=algorithm, key="algorithm")
        for name in ("figure2", "figure3")
        for algorithm in ("A_DW",)
    ),
    *(
        _says(
            name,
            "5.2: with a larger parameter the criteria cost falls and the time cost rises.",
            what="section 5.2",
            condition="At nearly every step: beyond the best parameter, where deadlines pass, and "
            "where a step changes less than chance does, it may not.",
        )
        for name in ("figure2", "figure3")
    ),
    _says("section5.3", "5.3: at smaller constant rates A_G gets better and better.", what=SMALLER,
          note="Measured by its cost over the optimum, which falls from each rate to the next."),
    _says("section5.3", "5.3: at smaller constant rates the costs of A_PM, A_MQ and A_DW stay in "
          "more or less the same proportion.", what=PROPORTION, judge=_proportion),
    _says("section5.3", "5.3: rising rates give results like constant ones.", what=RAISING,
          judge=_raising),
    _says("section5.3", "5.3: with a rising rate matches are expensive at the beginning and cheap "
          "at the end.", what=HALVES,
          note="Measured as the cost of the first half of the matches over that of the second."),
    _says("table3", "Table 3 averages over six settings, with constant and with rising rates.",
          what="OPT", key="algorithm", judge=_undefined),
    _line("A_G", 2.04),
    _line("A_PM", 1.64),
    _line("A_MQ", 1.41),
    _line("A_DW", 1.39, note="The paper does not say either from when the wait of a pair counts: "
          "both readings are tried."),
    *(
        _ours("table3", f"{policy}, one of our policies, on the sequences of Table 3.", what=policy,
              key="algorithm")
        for policy in ("delay_greedy", "price", "gap_value")
    ),
    _ours("floor", "How cheap a policy without foreknowledge can be."),
    _ours("groups", "More than two players: the algorithms that the paper allows, and "
          "group_price."),
    _ours("lookahead", "What it would be worth to know arrivals in advance."),
    _ours("ticks", "What it costs to decide on a clock."),
)  # fmt: skip

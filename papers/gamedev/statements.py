"""The statements of the thread "Matching players in an online 1vs1 game"."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from papers.shared.findings import Row, Verdict
from papers.shared.words import figure
from papers.statements.saying import Judge, Judgement, PaperStatement

ByID = Mapping[str, Sequence[Row]]
WIDENING = "window:limit=150,rate=2"
LIMITS = f"{WIDENING},limit_max=500"
WILL_DO = 1.0
"""Seconds, and points, by which a clock may be worse and still suffice; the thread gives none."""
FEW = "low"
"""The population in which the thread's problems appear: 60 players."""
UNITS = {"wait": " s", "rating difference": " points", "matched": "", "rematches": ""}


def _says(name: str, says: str, **more: object) -> PaperStatement:
    return PaperStatement(id=f"gamedev.{name}", says=says, **more)  # type: ignore[arg-type]


def _find(by_id: ByID, name: str, policy: str, group: str, key: str) -> Row:
    """Return a figure of the small population."""
    return next(
        row
        for row in by_id[f"gamedev.{name}"]
        if str(row.params["policy"]).startswith(policy)
        and (row.params["population"], row.params["group"], row.params["figure"])
        == (FEW, group, key)
    )


def _told(row: Row) -> str:
    digits = 3 if row.params["figure"] in ("matched", "rematches") else 1
    return figure(row.simulated, row.half_width, digits) + UNITS[row.params["figure"]]


def _more(one: Row, other: Row, words: str) -> Judgement:
    """Return whether one figure is certainly above another.

    Args:
        one: The figure said to be larger.
        other: The figure said to be smaller.
        words: Names of the two.
    """
    gap = (one.simulated or 0.0) - (other.simulated or 0.0)
    width = math.hypot(one.half_width or 0.0, other.half_width or 0.0)
    told = f"{words}: {_told(one)} against {_told(other)}."
    if gap > width:
        return Judgement("holds", told, one)
    if gap < -width:
        return Judgement("differs", told, one)
    return Judgement("unresolved", f"{told} {_runs(one.runs, width, gap)}", one)


def _runs(runs: int, width: float, gap: float) -> str:
    if not gap:
        return "The two gave identical results here, where no number of runs would decide."
    needed = math.ceil(2.0 * runs * (width / gap) ** 2)
    return f"About {needed:,} runs would decide ({runs} made)."


def _all(*judged: Judgement) -> Judgement:
    """Return the joint verdict of several comparisons: the worst, with all words."""
    order: tuple[Verdict, ...] = ("differs", "unresolved", "holds")
    worst = min((each for each in judged if each.verdict), key=lambda e: order.index(e.verdict))
    return worst._replace(why=" ".join(each.why for each in judged))


def _nearest(figures: Sequence[Row], by_id: ByID) -> Judgement:
    """Taking the nearest makes fairer matches, if there is a choice."""
    del figures
    key = "rating difference"
    rounds = _find(by_id, "nearest", f"{LIMITS},every", "all", key)
    nearest = _find(by_id, "nearest", f"{LIMITS},pick=nearest,every", "all", key)
    found = _more(rounds, nearest, "Mean difference in rounds of 30 s, without it and with")
    if found.verdict != "holds" or "gamedev.widening" not in by_id:
        return found
    at_once = [
        (own.simulated, other.simulated)
        for own, other in zip(by_id["gamedev.nearest"], by_id["gamedev.widening"], strict=False)
        if "every" not in str(own.params["policy"])
    ]
    equal = sum(one == other for one, other in at_once)
    condition = (
        "If matches are made in rounds, so that there is somebody to choose from. Decided at once "
        f"{equal} of {len(at_once)} figures are identical: a pair is made the moment it may play."
    )
    return Judgement("holds if", f"{condition} {found.why}", nearest)


def _against(other: str, policy: str, *, wait: int = 0, gap: int = 0) -> Judge:
    """Return the judge of a suggestion compared with another policy, by wait and difference.

    Args:
        other: Id of the other's rows.
        policy: How its name begins.
        wait: 1 if players are said to wait longer, -1 shorter, 0 nothing.
        gap: The same for rating differences.
    """

    def judge(figures: Sequence[Row], by_id: ByID) -> Judgement:
        if f"gamedev.{other}" not in by_id:
            return Judgement(None, "")
        found = []
        name = figures[0].id.partition(".")[2]
        for key, sign in (("wait", wait), ("rating difference", gap)):
            if sign:
                own = _find(by_id, name, "", "all", key)
                beside = _find(by_id, other, policy, "all", key)
                pair = (own, beside) if sign > 0 else (beside, own)
                which = "with it and without" if sign > 0 else "without it and with"
                found.append(_more(*pair, f"Mean {key}, {which}"))
        return _all(*found)

    return judge


def _lonely(_: Sequence[Row], by_id: ByID) -> Judgement:
    """Few teams at high ratings wait long, or are never matched."""
    policy = "window:limit=150"
    wait = [_find(by_id, "fixed", policy, group, "wait") for group in ("top tenth", "all")]
    share = [_find(by_id, "fixed", policy, group, "matched") for group in ("all", "top tenth")]
    return _all(
        _more(wait[0], wait[1], "Mean wait of the top tenth who were matched, and of all"),
        _more(share[0], share[1], "Share matched of all, and of the top tenth"),
    )


def _unfair(_: Sequence[Row], by_id: ByID) -> Judgement:
    """A larger limit makes matches unfair."""
    gaps = [
        _find(by_id, "fixed", f"window:limit={limit}", "all", "rating difference")
        for limit in (500, 150)
    ]
    return _more(gaps[0], gaps[1], "Mean difference with a limit of 500, and of 150")


def _widening(_: Sequence[Row], by_id: ByID) -> Judgement:
    """A widening limit: lonely players are matched, others more fairly than by a large limit."""
    if "gamedev.fixed" not in by_id:
        return Judgement(None, "")
    own = {key: _find(by_id, "widening", "", "top tenth", key) for key in ("matched",)}
    gap = _find(by_id, "widening", "", "all", "rating difference")
    return _all(
        _more(
            own["matched"],
            _find(by_id, "fixed", "window:limit=150", "top tenth", "matched"),
            "Share of the top tenth that is matched, and with the fixed limit of 150",
        ),
        _more(
            _find(by_id, "fixed", "window:limit=500", "all", "rating difference"),
            gap,
            "Mean difference with the fixed limit of 500, and with the growing one",
        ),
    )


def _rematches(_: Sequence[Row], by_id: ByID) -> Judgement:
    """The rule makes rematches rarer."""
    if "gamedev.widening" not in by_id:
        return Judgement(None, "")
    return _more(
        _find(by_id, "widening", "", "all", "rematches"),
        _find(by_id, "rematch", "", "all", "rematches"),
        "Share of matches that repeat the one before, without the rule and with it",
    )


def _second(figures: Sequence[Row], by_id: ByID) -> Judgement:
    """A clock of one second changes next to nothing."""
    if "gamedev.widening" not in by_id:
        return Judgement(None, "")
    own = _find(by_id, "second", "", "all", "wait")
    exact = _find(by_id, "widening", "", "all", "wait")
    more = (own.simulated or 0.0) - (exact.simulated or 0.0)
    same = [
        (row.simulated, other.simulated)
        for row, other in zip(figures, by_id["gamedev.widening"], strict=False)
    ]
    equal = sum(one == other for one, other in same)
    wider = (
        (_find(by_id, "second", "", "all", "rating difference").simulated or 0.0)
        - (_find(by_id, "widening", "", "all", "rating difference").simulated or 0.0)
    )  # fmt: skip
    words = (
        f"Mean wait {_told(own)} against {_told(exact)} with exact timers: {more:+.1f} s; rating "
        f"difference {wider:+.1f} points. {equal} of {len(same)} figures are identical to those of "
        "the exact timers."
    )
    if max(more, wider) > WILL_DO:
        return Judgement("differs", words, own)
    return Judgement("holds if", f"If a second and a point more will do. {words}", own)


def _rounds(_: Sequence[Row], by_id: ByID) -> Judgement:
    """Rounds of two minutes: unnecessary waits for closer matches."""
    if "gamedev.fixed" not in by_id:
        return Judgement(None, "")
    wide = "window:limit=500"
    return _all(
        _more(
            _find(by_id, "rounds", "", "all", "wait"),
            _find(by_id, "fixed", wide, "all", "wait"),
            "Mean wait in frames, and at once within 500 points",
        ),
        _more(
            _find(by_id, "fixed", wide, "all", "rating difference"),
            _find(by_id, "rounds", "", "all", "rating difference"),
            "Mean difference at once within 500 points, and in frames",
        ),
    )


def _virtual(_: Sequence[Row], by_id: ByID) -> Judgement:
    """Top ranked players eventually meet someone."""
    top = _find(by_id, "virtual", "virtual_rating", "top tenth", "matched")
    if "gamedev.fixed" not in by_id:
        return Judgement(None, "")
    fixed = _find(by_id, "fixed", "window:limit=150", "top tenth", "matched")
    return _more(top, fixed, "Share of the top tenth matched, and with the fixed limit of 150")


CLAIMS = (
    _says("fixed", "With a fixed limit the few teams at high ratings wait long or find no match.",
          key="policy", what="window:limit=150", judge=_lonely),
    _says("fixed", "A larger limit makes matches unfair.", key="policy", what="window:limit=500",
          judge=_unfair),
    _says("widening", "A limit that grows with the wait matches isolated players, and makes fairer "
          "matches than a large limit.", judge=_widening),
    _says("second", "It is enough to search once a second.", judge=_second),
    _says("rounds", "Frames of two minutes make closer matches and cost unnecessary waiting.",
          judge=_rounds),
    _says("rematch", "Redraws keep the same few opponents from meeting over and over.",
          judge=_rematches),
    _says("virtual", "With a virtual rating top players eventually meet someone.", judge=_virtual),
    _says("nearest", "Taking the nearest player makes fairer matches than taking the one who has "
          "waited longest.",
          judge=_nearest),
    _says("either", "If one side's limit is enough, matches come sooner and are less even.",
          judge=_against("widening", WIDENING, wait=-1, gap=1)),
)  # fmt: skip
MEASURED = tuple(
    _says(name, says, is_ours=True)
    for name, says in (
        ("anybody", "Anybody meets anybody: the shortest possible waits and the most matches."),
        ("brackets", "Brackets that halve and merge, on the same players."),
        ("percentile", "Percentiles instead of points, on the same players."),
        ("weighted", "Weights for similarity, wait and recency, on the same players."),
        ("price", "price, one of our policies, on the same players."),
        ("optimum", "The best that was possible, on the same players."),
        ("halo", "Recorded players: policies compared with the best that was possible."),
    )
)
EXAMPLES = (
    _says("a", "First suggestion: 2050 meets 2000 at once, 2300 meets 1900 as limits grow."),
    _says("b", "A limit of 5 % of one's own rating, plus 5 % every 10 s: 800 meets 2000 after "
          "410 s."),
    _says("c", "Third suggestion: 499 does not meet 990 while the bracket is halved."),
    _says("d", "The top 10 % meets the top 5 to 15 %, and nobody else."),
    _says("e", "Second suggestion: two equal players wait a minute on average for nothing."),
    _says("f", "Weights match 0 and 1000, alone in the pool, at once."),
    _says("points", "2655 against 2044: maybe a single point for the favourite's win.", unit=0.75,
          note="With deviations of 50; the thread doesn't name them."),
    _says("chance", "With more than 500 points between them the lower team wins less than 3 % of "
          "the matches.",
          mended="Right: 5.3 %, and 3 % is reached at 604 points. Glicko and Elo give the lower "
          "player 1 / (1 + 10^(gap / 400)), and less certain ratings only raise it."),
)  # fmt: skip
SAYINGS = (*CLAIMS, *MEASURED, *EXAMPLES)

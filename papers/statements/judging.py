"""From figures to verdicts on statements, with explanations in words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from evenmatch.lab.report.figures import figure_text
from papers.shared.findings import Row, Verdict
from papers.shared.words import at_setting, figure, setting_in_words, setting_of
from papers.statements.saying import Judge, Judgement, PaperStatement, Statement

SAME = 1e-9
"""Relative difference below which two computed figures count as equal."""
THREE_ERRORS = 1.5
"""About three standard errors in 95 % half-widths: the possible error of one of many figures."""
POWER = 2.0
"""Factor on the runs at which an interval just excludes the aim, for a power of four in five."""
RUNS_MAX = 100_000
"""Most runs that are worth suggesting."""
NAMED_MAX = 3
"""Most settings that are named one by one."""


def statements_of(sayings: Sequence[PaperStatement], rows: Sequence[Row]) -> list[Statement]:
    """Return a statement for each saying that has figures, in the order of the rows.

    Figures that belong to no saying become statements of their own, in their own words.
    """
    by_id: dict[str, list[Row]] = {}
    for row in rows:
        by_id.setdefault(row.id, []).append(row)
    found = []
    for row_id, own in by_id.items():
        for saying, figures in _shared_out([s for s in sayings if s.id == row_id], own):
            found.append(_statement(saying, figures, by_id))
    return found


def _shared_out(
    sayings: Sequence[PaperStatement], rows: Sequence[Row]
) -> Iterator[tuple[PaperStatement, list[Row]]]:
    """Yield each saying with its figures: the longest matching words decide the assignment."""
    taken: dict[int, list[Row]] = {}
    others: dict[str, list[Row]] = {}
    for row in rows:
        words = str(row.params.get("what", ""))
        fitting = [
            n
            for n, each in enumerate(sayings)
            if str(row.params.get(each.key, "")).startswith(each.what)
        ]
        if fitting:
            best = max(fitting, key=lambda n: len(sayings[n].what))
            taken.setdefault(best, []).append(row)
        else:
            others.setdefault(words, []).append(row)
    for place in sorted(taken):
        yield sayings[place], taken[place]
    for words, own in others.items():
        yield PaperStatement(id=rows[0].id, says=words[:1].upper() + words[1:] + "."), own


def _statement(
    saying: PaperStatement, figures: Sequence[Row], by_id: Mapping[str, Sequence[Row]]
) -> Statement:
    verdict, why, telling = judged_by(saying, figures, by_id)
    most = telling or _telling(figures, verdict)
    return Statement(
        id=saying.id,
        statement=saying.says,
        params=most.params,
        printed=most.printed,
        corrected=most.corrected,
        exact=most.exact,
        simulated=most.simulated,
        half_width=most.half_width,
        verdict=verdict,
        why=why,
        scenario=most.scenario,
        command=most.command,
        figures=tuple(figures),
    )


def judged_by(
    saying: PaperStatement, figures: Sequence[Row], by_id: Mapping[str, Sequence[Row]]
) -> Judgement:
    """Return the verdict on a statement, and why.

    Args:
        saying: The statement.
        figures: Its own.
        by_id: All figures of the paper, for statements that compare.
    """
    found = (saying.judge or _by_figures(saying))(figures, by_id)
    same = (identical(figures), identical_elsewhere(figures, by_id), no_difference(figures))
    words = (found.why, saying.note, *same)
    return found._replace(why=" ".join(part for part in words if part))


def _by_figures(saying: PaperStatement) -> Judge:
    """Return the judge that most statements use."""

    def judge(figures: Sequence[Row], _: Mapping[str, Sequence[Row]]) -> Judgement:
        marks = Counter(each.verdict for each in figures if each.verdict is not None)
        verdict = _verdict(saying, marks, figures)
        return Judgement(verdict, _why(saying, verdict, figures))

    return judge


def _verdict(
    saying: PaperStatement, marks: Counter[Verdict], figures: Sequence[Row]
) -> Verdict | None:
    if not marks or saying.is_ours:
        return None
    if marks["wrong in print"]:
        return "wrong in print"
    if saying.reading:
        return "undefined in the source"
    if marks["holds if"] or (marks["differs"] and saying.condition):
        return "holds if"
    if marks["differs"]:
        return "differs"
    if marks["unresolved"]:
        return "unresolved"
    return "holds if" if any(_is_near(each, saying) for each in figures) else "holds"


def _truth(row: Row) -> tuple[float, float] | None:
    """Return the best known true figure, and its possible error."""
    if row.exact is not None:
        return row.exact, 0.0
    if row.simulated is None:
        return None
    return row.simulated, THREE_ERRORS * (row.half_width or 0.0)


def _off(row: Row) -> float:
    """Return the relative error of the printed figure, beyond what chance explains."""
    truth = _truth(row)
    if row.printed is None or truth is None:
        return 0.0
    value, width = truth
    gap = abs(row.printed - value)
    if gap <= width or math.isclose(row.printed, value, rel_tol=SAME, abs_tol=SAME):
        return 0.0
    return gap / abs(value) if value else math.inf


def _is_near(row: Row, saying: PaperStatement) -> bool:
    """Return whether the printed figure is rounded or approximate: near, but not equal."""
    return row.verdict == "holds" and (saying.unit > 0.0 or saying.slack > 0.0) and _off(row) > 0.0


def _telling(figures: Sequence[Row], verdict: Verdict | None) -> Row:
    """Return the figure to show: one that supports the verdict, the larger the error the better."""

    def key(row: Row) -> tuple[bool, bool, float, bool]:
        is_of_it = row.verdict == verdict
        is_other = row.verdict not in (None, "holds")
        apart = row.printed is not None and row.corrected is not None
        gap = abs((row.printed or 0.0) - (row.corrected or 0.0)) if apart else _off(row)
        return is_of_it, is_other, gap, row.simulated is not None

    return max(figures, key=key)


def _why(saying: PaperStatement, verdict: Verdict | None, figures: Sequence[Row]) -> str:
    if verdict == "wrong in print":
        return saying.mended
    if verdict == "undefined in the source":
        return saying.reading
    if verdict == "unresolved":
        return " ".join(filter(None, (_undecided(figures), saying.reason)))
    if verdict == "holds if":
        near = [each for each in figures if _is_near(each, saying)]
        condition = saying.condition or _near(saying, near)
        words = (condition, _elsewhere(figures), _how_much(figures), saying.reason)
        return " ".join(filter(None, words))
    if verdict == "differs":
        return " ".join(filter(None, (_how_much(figures), _elsewhere(figures), saying.reason)))
    return _support(figures)


def _near(saying: PaperStatement, figures: Sequence[Row]) -> str:
    """Return that a figure is rounded, or that a formula is near but not exact."""
    if not figures:
        return ""
    worst = max(figures, key=_off)
    value = (_truth(worst) or (0.0, 0.0))[0]
    if saying.unit:
        return f"Rounded, as printed: {worst.printed:.6g} stands for {value:.6g}."
    return (
        f"Taken as the approximation that it is called: off by {100.0 * _off(worst):.2g} % at the "
        f"most ({at_setting(worst)})."
    )


def _how_much(figures: Sequence[Row]) -> str:
    """Return the error of the printed figure where it is largest."""
    judged = [row for row in figures if row.verdict in ("differs", "holds if")]
    off = [row for row in judged if _off(row) > 0.0]
    if off:
        worst = max(off, key=_off)
        value = (_truth(worst) or (0.0, 0.0))[0]
        many = len(figures) > 1
        start = (
            f"Off in {len(off)} of {len(figures)} settings, at {at_setting(worst)}: "
            if many
            else ""
        )
        assert worst.printed is not None
        # Without figures, a share is meaningless.
        has_share = bool(worst.printed) and bool(value)
        times = f", {100.0 * (worst.printed / value - 1.0):+.3g} %" if has_share else ""
        return (
            f"{start}{'p' if many else 'P'}rinted {worst.printed:.4g}, here {_here(worst)}{times}."
        )
    wrong = [row for row in figures if row.verdict == "differs" and row.simulated is not None]
    if not wrong:
        return ""
    worst = max(wrong, key=lambda row: abs((row.simulated or 0.0) - (row.aim or 0.0)))
    is_more = (worst.simulated or 0.0) > (worst.aim or 0.0)
    words = f"{'no ' if is_more else ''}more than {worst.aim or 0:g} was said"
    return f"Here {_here(worst)}, where {words} ({at_setting(worst)})."


def _here(row: Row) -> str:
    if row.exact is not None:
        return f"{row.exact:.4g}"
    digits = 2 if abs(row.simulated or 0.0) >= 10.0 else 3
    return figure(row.simulated, row.half_width, digits)


def _elsewhere(figures: Sequence[Row]) -> str:
    """Return in how many settings a statement holds, if it does not hold in all of them."""
    marks = Counter(row.verdict for row in figures if row.verdict is not None)
    total = sum(marks.values())
    if total < 2 or not marks["holds"] or marks["holds"] == total:
        return ""
    left = f", undecided in {marks['unresolved']}" if marks["unresolved"] else ""
    return f"It holds in {marks['holds']} of {total} settings{left}."


def _undecided(figures: Sequence[Row]) -> str:
    """Return where chance is not excluded, and how many more runs would be needed."""
    open_ = [row for row in figures if row.verdict == "unresolved"]
    parts = [
        f"at {setting_of(row)}: {_here(row)}, {runs_in_words(runs_to_decide(row), row.runs)}"
        for row in open_
    ]
    shown_ = "; ".join(parts[:NAMED_MAX])
    shown_ = shown_[:1].upper() + shown_[1:]
    more = f"; and {len(parts) - NAMED_MAX} more" if len(parts) > NAMED_MAX else ""
    return " ".join(filter(None, (f"{shown_}{more}.", _elsewhere(figures))))


def runs_to_decide(row: Row) -> int:
    """Return how many runs distinguish a figure from its aim, if the figure is accurate.

    >>> runs_to_decide(Row(id="a", simulated=1.0, half_width=2.0, runs=10, aim=0.0))
    80
    """
    gap = abs((row.simulated or 0.0) - (row.aim or 0.0))
    if not gap:
        return 10**9
    return math.ceil(POWER * row.runs * ((row.half_width or 0.0) / gap) ** 2)


def runs_in_words(needed: int, made: int) -> str:
    """Return how many runs would decide.

    >>> runs_in_words(80, 10)
    'about 80 runs would decide (10 made)'
    """
    if needed > RUNS_MAX:
        return f"next to no difference: more than {RUNS_MAX:,} runs would have to decide"
    return f"about {needed:,} runs would decide ({made} made)"


def _support(figures: Sequence[Row]) -> str:
    """Return the evidence for a statement that holds."""
    exact = [row for row in figures if row.exact is not None and row.printed is not None]
    pairs = [
        (row.exact if row.exact is not None else row.printed, row)
        for row in figures
        if row.simulated is not None and row.half_width
    ]
    known = [(truth, row) for truth, row in pairs if truth is not None]
    near = sum(
        abs(truth - (row.simulated or 0.0)) <= THREE_ERRORS * (row.half_width or 0.0)
        for truth, row in known
    )
    parts = []
    if exact:
        parts.append(f"Exact in {_counted(len(exact))}.")
    if known:
        parts.append(f"{near} of {len(known)} simulated figures within three standard errors.")
    return " ".join(parts)


def _counted(count: int) -> str:
    return f"{count} setting" if count == 1 else f"{count} settings"


def line_of(statement: Statement) -> tuple[str, ...]:
    """Return a statement for people to read, one text for each head of a table."""
    found = statement
    known = (found.printed, found.corrected, found.exact)
    digits = 1 if abs(found.simulated or 0.0) >= 100.0 else 4
    return (
        found.id,
        found.statement,
        *(figure_text(each) for each in known),
        figure(found.simulated, found.half_width, digits),
        verdict_of(found),
        found.why,
    )


def verdict_of(statement: Statement) -> str:
    """Return the verdict, or the reason why there is none."""
    return statement.verdict or NOT_JUDGED[statement.printed is not None]


def lines_of(statement: Statement) -> list[str]:
    """Return the lines about a statement for a terminal."""
    found = statement
    names = ("printed", "right", "exact")
    known = zip(names, (found.printed, found.corrected, found.exact), strict=True)
    parts = [f"{name} {figure_text(value)}" for name, value in known if value is not None]
    if found.simulated is not None:
        digits = 1 if abs(found.simulated) >= 100.0 else 4
        parts.append(f"simulated {figure(found.simulated, found.half_width, digits)}")
    setting = setting_in_words(found.params)
    count = f"; {len(found.figures)} settings" if len(found.figures) > 1 else ""
    figures = f"{', '.join(parts)} ({setting}{count})" if setting or count else ", ".join(parts)
    return [line for line in (found.statement, figures, found.why) if line]


NOT_JUDGED = ("measured", "not judged")
"""In place of a verdict: nothing is printed, or nothing here can be compared with the print."""


METHODS = ("policy", "order", "method", "objective", "start", "algorithm")
"""Parameters that name methods; two methods may give exactly the same figures."""
SPLIT = "population"
"""A parameter for whose single values methods of different statements are compared."""
SAME_MIN = 3
"""Least number of equal figures for methods of different statements to be called identical."""


def identical(figures: Sequence[Row]) -> str:
    """Return which methods gave exactly the same simulated figures, as a sentence.

    >>> rows = [Row(id="a", params={"policy": p}, simulated=2.0, half_width=0.1) for p in "xy"]
    >>> identical(rows)
    'x and y gave identical results.'
    """
    told = []
    for name in METHODS:
        found = _by_method(figures, name)
        groups: list[list[str]] = []
        for method, own in found.items():
            for group in groups:
                if _agree(found[group[0]], own):
                    group.append(method)
                    break
            else:
                groups.append([method])
        told += [group for group in groups if len(group) > 1]
    return " ".join(f"{_and(group)} gave identical results." for group in told)


def identical_elsewhere(figures: Sequence[Row], by_id: Mapping[str, Sequence[Row]]) -> str:
    """Return which methods of other statements gave exactly the same figures, as a sentence.

    Methods that agree in only one population are included, with its name.
    """
    own = {id(row) for row in figures}
    others = [row for rows in by_id.values() for row in rows if id(row) not in own]
    told = []
    for name in METHODS:
        mine, beside = _by_method(figures, name), _by_method(others, name)
        places = list(dict.fromkeys(row.params.get(SPLIT) for row in figures))
        for method, found in mine.items():
            for other, known in beside.items():
                if other == method:
                    continue
                where = [
                    place
                    for place in places
                    if _agree_in_all(_at_place(found, place), _at_place(known, place))
                ]
                if where:
                    rest = "" if len(where) == len(places) else f" at {SPLIT} {_and(where)}"
                    told.append(f"{method} and {other} gave identical results{rest}.")
    return " ".join(dict.fromkeys(told))


def _by_method(rows: Sequence[Row], name: str) -> dict[str, dict[str, float]]:
    """Return the simulated figures of each method, by their settings."""
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        # Counts and examples without randomness may well be equal.
        if name in row.params and row.simulated is not None and row.half_width is not None:
            rest = {key: value for key, value in row.params.items() if key != name}
            rest.pop("scenario", None)
            found.setdefault(str(row.params[name]), {})[str(rest)] = row.simulated
    return found


def _at_place(found: Mapping[str, float], place: object) -> dict[str, float]:
    """Return the figures of one population; of all if none is named."""
    words = "" if place is None else f"{SPLIT!r}: {place!r}"
    return {key: value for key, value in found.items() if words in key}


def no_difference(figures: Sequence[Row]) -> str:
    """Return where two methods that the paper distinguishes made exactly the same matches."""
    same = [
        row for row in figures if row.runs and row.aim == 0.0 == row.simulated == row.half_width
    ]
    if not same:
        return ""
    return f"The two gave identical results at {'; '.join(map(at_setting, same))}."


def _agree(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    """Return whether two methods share settings, and agree in all of these."""
    common = one.keys() & other.keys()
    return bool(common) and all(one[key] == other[key] for key in common)


def _agree_in_all(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    """Return whether another method has all settings of one, with the same figures."""
    least = max(SAME_MIN, min(len(one), len(other)))
    return len(one.keys() & other.keys()) >= least and _agree(one, other)


def _and(parts: Sequence[object]) -> str:
    *first, last = (str(part) for part in parts)
    return f"{', '.join(first)} and {last}" if first else last

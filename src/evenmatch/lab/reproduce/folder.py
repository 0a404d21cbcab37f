"""What `--out` writes: the page, the rows, the figures with their numbers, the scenarios."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from evenmatch.errors import ConfigError
from evenmatch.lab.plots import as_file, plot_lines
from evenmatch.lab.report import page
from evenmatch.lab.reproduce.paper import Reproduction
from evenmatch.lab.reproduce.row import Findings, Plot, Row
from evenmatch.lab.reproduce.words import HEADS, is_text, line_of, told_of

TEMPLATE = "reproduction.html.j2"
TITLES = {
    "schlup": "Automatic Game Matching, done again",
    "gamedev": "Matching players in an online 1vs1 game, done again",
    "galactron": "The matchmaking of Awesomenauts (Galactron), done again",
    "wu": "Dynamic Matching With Teams, done again",
    "xu": "Rule Designs for Optimal Online Game Matchmaking, done again",
}


def write_folder(folder: Path, done: Reproduction, command: str) -> None:
    """Write all files of a reproduction.

    Args:
        folder: Made where it does not exist; files of the same names are replaced.
        done: What to write.
        command: The one that was given, for the page.

    Raises:
        ConfigError: A file cannot be written.
        NotSupported: jinja2 or matplotlib is not installed.
    """
    try:
        for name, text in _files(done, command):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--out: {folder} cannot be written: {error.strerror or error}") from None


def _files(done: Reproduction, command: str) -> Iterator[tuple[str, str]]:
    findings = done.findings
    yield "rows.json", json.dumps(done.as_json(), ensure_ascii=False, indent=1) + "\n"
    yield "rows.csv", _csv_of_rows(findings.rows)
    drawn = []
    for plot in findings.plots:
        svg = plot_lines(plot)
        yield f"figures/{plot.name}.svg", as_file(svg)
        yield f"figures/{plot.name}.csv", _csv_of_plot(plot)
        drawn.append({"title": plot.title, "text": plot.text, "svg": svg})
    for name, text in findings.scenarios.items():
        yield f"scenarios/{name}", text
    yield (
        "report.html",
        page(
            TEMPLATE,
            title=TITLES[done.paper],
            text=_sentence(done),
            command=command,
            plots=drawn,
            tables=findings.tables,
            heads=HEADS,
            rows=_lines_beside(findings),
            is_text=is_text,
        ),
    )


def _lines_beside(findings: Findings) -> list[tuple[str, ...]]:
    """Return a line for every row; none if the tables have these lines already."""
    lines = [line_of(row) for row in findings.rows]
    shown = {line for each in findings.tables if each.heads == HEADS for line in each.lines}
    return [] if shown.issuperset(lines) else lines


def _sentence(done: Reproduction) -> str:
    rows = done.findings.rows
    told = f"{len(rows):,} {'row' if len(rows) == 1 else 'rows'}. {told_of(rows)}"
    failed = [f" {', '.join(each.ids)} failed: {each.error}." for each in done.failures]
    return told + "".join(failed)


def _csv_of_rows(rows: Sequence[Row]) -> str:
    fields = [field.name for field in msgspec.structs.fields(Row)]
    lines = [fields]
    for row in rows:
        plain = msgspec.to_builtins(row)
        plain["params"] = json.dumps(plain["params"])
        lines.append(["" if plain[name] is None else str(plain[name]) for name in fields])
    return _csv(lines)


def _csv_of_plot(plot: Plot) -> str:
    """Return the numbers of a figure: a line for each point."""
    lines = [["line", plot.x, plot.y, "half_width"]]
    for line in plot.lines:
        widths = line.widths or ("",) * len(line.xs)
        lines += [
            [line.name, repr(x), repr(y), str(width)]
            for x, y, width in zip(line.xs, line.ys, widths, strict=True)
        ]
    return _csv(lines)


def _csv(lines: Sequence[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()

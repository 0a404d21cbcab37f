"""The files of `--out`: the page, the rows, the figures with their numbers, the scenarios."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from evenmatch.errors import ConfigError
from evenmatch.lab.report.plots import Plot, as_file, plot_lines
from evenmatch.lab.report.report import page
from papers.reproduction import Reproduction, source_of
from papers.shared.words import HEADS, STATEMENT_HEADS, is_text, line_of, told_of
from papers.statements.judging import line_of as line_of_statement
from papers.statements.saying import FIGURE_KEYS, Statement
from papers.statements.source import Opening

TEMPLATE = Path(__file__).with_name("reproduction.html.j2")


def write_folder(folder: Path, done: Reproduction, command: str) -> None:
    """Write all files of a reproduction.

    Args:
        folder: Created if it does not exist; files of the same names are replaced.
        done: The reproduction.
        command: The command that was run, for the page.

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
    source, statements, plots = source_of(done.paper), done.statements, done.plots
    yield "rows.json", json.dumps(done.as_json(), ensure_ascii=False, indent=1) + "\n"
    yield "rows.csv", _csv_of_statements(statements)
    yield "figures.csv", _csv_of_figures(statements)
    drawn = {}
    for plot in plots:
        svg = plot_lines(plot)
        yield f"figures/{plot.name}.svg", as_file(svg)
        yield f"figures/{plot.name}.csv", _csv_of_plot(plot)
        drawn[plot.name] = {"title": plot.title, "text": plot.text, "svg": svg}
    for name, text in done.findings.scenarios.items():
        yield f"scenarios/{name}", text
    opening = blocks(source.opening, statements)
    shown = {each.picture for each in opening}
    yield (
        "report.html",
        page(
            TEMPLATE,
            title=f"{source.title}, done again",
            text=_sentence(done),
            words=source.opening.words,
            left_out=done.left_out,
            command=command,
            opening=opening,
            drawn=drawn,
            plots=[each for name, each in drawn.items() if name not in shown],
            statement_heads=STATEMENT_HEADS,
            statements=[line_of_statement(each) for each in statements],
            tables=[each for each in done.findings.tables if each.heads != HEADS],
            heads=HEADS,
            rows=[line_of(row) for row in done.findings.rows],
            is_text=is_text,
        ),
    )


def _sentence(done: Reproduction) -> str:
    failed = [f" {', '.join(each.ids)} failed: {each.error}." for each in done.failures]
    return told_of(each.verdict for each in done.statements) + "".join(failed)


def _csv_of_statements(statements: Sequence[Statement]) -> str:
    fields = [field.name for field in msgspec.structs.fields(Statement) if field.name != "figures"]
    return _csv([fields, *(_texts(msgspec.to_builtins(each), fields) for each in statements)])


def _csv_of_figures(statements: Sequence[Statement]) -> str:
    """Return every setting of every statement."""
    lines = [["id", "statement", *FIGURE_KEYS]]
    for each in statements:
        for row in each.figures:
            plain = msgspec.to_builtins(row)
            lines.append([each.id, each.statement, *_texts(plain, FIGURE_KEYS)])
    return _csv(lines)


def _texts(plain: dict[str, Any], fields: Sequence[str]) -> list[str]:
    values = {**plain, "params": json.dumps(plain["params"])}
    return ["" if values[name] is None else str(values[name]) for name in fields]


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


LINES_MAX = 6
"""Most statements of a kind that the first page lists; all are further down."""


class Block(msgspec.Struct, frozen=True):
    """A third of the first page.

    Args:
        title: One word or two.
        text: A sentence.
        picture: Name of its plot.
        lines: A statement, and a remark on it.
        more: Number of further statements.
    """

    title: str
    text: str
    picture: str
    lines: tuple[tuple[str, str], ...]
    more: int


def blocks(opening: Opening, statements: Sequence[Statement]) -> list[Block]:
    """Return the first page of a paper, without kinds that have no statement."""
    held = [each for each in statements if each.verdict == "holds"]
    mended = [each for each in statements if each.verdict == "wrong in print"]
    conditions = [each for each in statements if each.verdict == "holds if"]
    new = [each for each in statements if each.verdict is None and each.printed is None]
    others = ("differs", "unresolved", "undefined in the source")
    asked = [each for each in statements if each.verdict in others]
    found = [
        _block("Confirmed", f"{_count(held)} as printed.", opening.confirmed, held),
        _block(
            "Mended",
            f"{_count(mended)} wrong in print, {len(conditions)} in need of a condition.",
            opening.mended,
            [*mended, *conditions],
        ),
        _block("New", f"{_count(new)} beside the paper's.", opening.new, new),
        _block(
            "To ask the authors", f"{_count(asked)}: different here, open, or undefined.", "", asked
        ),
    ]
    return [each for each in found if each.lines]


def _count(statements: Sequence[Statement]) -> str:
    return f"{len(statements)} {'statement' if len(statements) == 1 else 'statements'}"


def _block(title: str, text: str, picture: str, statements: Sequence[Statement]) -> Block:
    # Statements with a remark come first; otherwise the sort keeps the paper's order.
    first = sorted(statements, key=lambda each: not each.why)[:LINES_MAX]
    lines = tuple((each.statement, _first_words(each.why)) for each in first)
    return Block(title, text, picture, lines, len(statements) - len(first))


def _first_words(why: str) -> str:
    """Return the first two sentences.

    >>> _first_words("Right: 2 / x. The print has 1. In 3 of 4 settings.")
    'Right: 2 / x. The print has 1.'
    """
    parts = why.split(". ")
    return why if len(parts) <= 2 else ". ".join(parts[:2]) + "."

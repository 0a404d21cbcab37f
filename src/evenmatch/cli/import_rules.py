"""`evenmatch import`: take over rules of another matchmaker, and say of each line how well."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec
from cyclopts import Parameter

from evenmatch.cli.output import console, print_json, removed_if_unfinished, write_text
from evenmatch.errors import ConfigError
from evenmatch.lab.imports.report import ImportOptions, ImportResult
from evenmatch.rules.playfab.reader import is_playfab_text

BYTES_MAX = 4_000_000
SIGN = b'"ruleLanguageVersion"'
"""A key that every FlexMatch rule set has, and no PlayFab queue."""
SECONDS_MAX = 1_000_000.0


def import_rules(
    format: Literal["flexmatch", "playfab"] | None = None,
    file: Path | None = None,
    /,
    *,
    out: Path | None = None,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    wait_max: float | None = None,
    accept: float | None = None,
    configuration: Path | None = None,
    target: Literal["auto", "kinds", "rules_file"] = "auto",
) -> None:
    """Convert another matchmaker's rules, and say for each line how exactly.

    The output has a line for each key of the file: whether it was converted exactly, approximately
    or not at all, what it becomes, and what is left for you to do. You can check, simulate and
    serve the configuration at once.

    For example:

        evenmatch import flexmatch rules.json --out game.toml --wait-max 60
        evenmatch import playfab queue.json --out game.toml

    Args:
        format: What the file is: `flexmatch`, a rule set of AWS FlexMatch; `playfab`, queues of
            PlayFab Matchmaking in any of its formats.
        file: The file, in JSON.
        out: Write the configuration to this .toml file or folder, and the files that it needs
            beside it. Without this option the configuration is printed.
        json: Print one JSON object and nothing else.
        wait_max: Seconds after which a ticket without a match ends; RequestTimeoutSeconds in AWS,
            GiveUpAfterSeconds in PlayFab.
        accept: Seconds that players have to accept a match; AcceptanceTimeoutSeconds in AWS.
        configuration: A matchmaking configuration of AWS, in JSON, from which both times are then
            read.
        target: For playfab: `kinds` writes rules of evenmatch's own, even where they are not quite
            equivalent; `rules_file` keeps the queue as it is, and evenmatch follows it exactly;
            `auto` writes rules of evenmatch's own only if all of them are equivalent.
    """
    if format is None or file is None:
        raise ConfigError("name a format and a file: evenmatch import flexmatch|playfab FILE")
    if configuration is not None and format != "flexmatch":
        raise ConfigError("--configuration goes with flexmatch; PlayFab has none")
    options = ImportOptions(
        wait_max=_seconds("--wait-max", wait_max),
        accept=_seconds("--accept", accept),
        target=target,
    )
    folder, name = _place(out, file)
    try:
        imported = _imported(format, file, options, configuration, beside=out is None)
    except ConfigError as error:
        raise ConfigError(_named(file, str(error), configuration)) from None
    written = _write(imported, folder, name) if out is not None else ()
    if json:
        print_json(_json(imported))
        return
    _print(imported)
    for path in written:
        print(f"wrote {path}")
    if out is None:
        print(f"\n{imported.toml}", end="")


def _seconds(option: str, value: float | None) -> float | None:
    if value is not None and not 1e-3 <= value <= SECONDS_MAX:
        raise ConfigError(f"{option} must be from 0.001 to {SECONDS_MAX:,.0f} s, got {value:g}")
    return value


def _place(out: Path | None, file: Path) -> tuple[Path, str]:
    """Return the folder of what is written, and the name of the configuration."""
    if out is None or (out.suffix != ".toml" and not out.is_file()):
        return out or Path(), f"{file.stem}.toml"
    if out.suffix != ".toml":
        raise ConfigError(f"--out must end in .toml or be a folder, got {out}")
    return out.parent, out.name


def _imported(
    format: str,
    file: Path,
    options: ImportOptions,
    configuration: Path | None,
    *,
    beside: bool,
) -> ImportResult:
    text = _bytes_of(file)
    other = "playfab" if is_playfab_text(text) else "flexmatch" if SIGN in text else format
    if other != format:
        raise ConfigError(f"is from {other}: evenmatch import {other} {file}")
    if format == "flexmatch":
        from evenmatch.lab.imports.flexmatch import import_rule_set

        settings = None if configuration is None else _bytes_of(configuration)
        name = str(file) if beside else ""
        source = str(configuration)
        return import_rule_set(text, options, settings, name=file.stem, beside=name, source=source)
    from evenmatch.lab.imports.playfab import import_queues

    return import_queues(text, options, str(file) if beside else "")


def _named(file: Path, text: str, configuration: Path | None) -> str:
    """Return errors with the name of the file before the first; how many there are, if several."""
    first, *others = text.split("\n")
    more = f" (and {len(others):,} more: evenmatch check {file} lists them)" if others else ""
    is_named = first.startswith((f"{file}: ", f"{configuration}: "))
    return first + more if is_named else f"{file}: {first}{more}"


def _bytes_of(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(BYTES_MAX + 1)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from None
    if len(data) > BYTES_MAX:
        raise ConfigError(f"{path}: must be a file of at most {BYTES_MAX:,} bytes")
    return data


def _write(imported: ImportResult, folder: Path, name: str) -> tuple[Path, ...]:
    """Write the configuration and its files, of which none may be there already."""
    texts = {folder / name: imported.toml}
    texts |= {folder / file: text for file, text in imported.files.items()}
    for path in texts:
        if path.exists():
            raise ConfigError(f"{path} already exists: name another file or folder by --out")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be written: {error.strerror or error}") from None
    with removed_if_unfinished(*texts):
        for path, text in texts.items():
            write_text(path, text)
    return tuple(texts)


def _json(imported: ImportResult) -> dict[str, object]:
    names = list(imported.queues)
    return {
        "format": imported.format,
        "queue": names[0] if len(names) == 1 else None,
        "queues": names,
        "toml": imported.toml,
        "files": imported.files,
        "lines": [msgspec.structs.asdict(each) for each in imported.lines],
        "findings": [msgspec.structs.asdict(each) for each in imported.findings],
    }


def _print(imported: ImportResult) -> None:
    from rich.table import Table

    out = console()
    table = Table(box=None, pad_edge=False)
    table.add_column("line", justify="right", style="dim", overflow="fold")
    for head in ("path", "taken", "becomes", "note"):
        table.add_column(head, overflow="fold")
    for each in imported.lines:
        line = str(each.line) if each.line else ""
        table.add_row(line, each.path, each.taken, each.becomes, each.note)
    out.print(table)
    counts = [(level, sum(e.taken == level for e in imported.lines)) for level in LEVELS]
    print("\n" + ", ".join([f"{count} {level}" for level, count in counts]) + ".")
    for finding in imported.findings:
        print(finding)


LEVELS = ("exactly", "approximately", "not at all")

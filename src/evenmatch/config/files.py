"""Strict TOML: scenarios to simulate, and the queues and settings of a server.

Both are one format; a server ignores `[arrivals]` and `[attributes]`, a simulation ignores
`[server]`. Whatever cannot work as written is refused with a ConfigError: one sentence that names
the key and says what is allowed.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from evenmatch.config.arrivals import build_arrivals
from evenmatch.config.constraints import ReadTable
from evenmatch.config.decode import SECONDS, WAITS, Place, decode
from evenmatch.config.distributions import locate_file
from evenmatch.config.queues import build_queues, queue_place
from evenmatch.config.server import build_settings, build_tenants
from evenmatch.config.shapes import AnswersShape, OutcomesShape, ScenarioShape
from evenmatch.criteria.percentile import quantiles_of
from evenmatch.criteria.validation.queue import check_queue
from evenmatch.criteria.validation.values import Bounds
from evenmatch.errors import ArrivalsError, ConfigError, MatchmakingError
from evenmatch.model.queue import Queue
from evenmatch.model.scenario import Answers, OutcomeModel, Scenario, ServerSettings, Tenant
from evenmatch.policies.hooks import rules_of
from evenmatch.policies.registry import parse_policy
from evenmatch.simulation.arrivals.tables import numbers_in

BYTES_MAX = 1_000_000
PARTS_MAX = 16
"""Parts of a dotted key."""
_PART = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')"""
DOTTED = re.compile(rf"(?<![\w-]){_PART}(?:[ \t]*\.[ \t]*{_PART}){{{PARTS_MAX}}}")
"""A key of more parts than that."""
SHARES = Bounds(0.0, 1.0)
ROOT = Place()
SCALES = Bounds(1e-6, 1e9)
DRAWS = Bounds(0.0, 1.0)


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Put the name of a configuration's file before what is wrong with it, once."""
    try:
        yield
    except ConfigError as error:
        text = str(error)
        if text.startswith(f"{path}: "):
            raise
        raise ConfigError(f"{path}: {text}") from None


def load_scenario(path: str | Path) -> Scenario:
    """Return the scenario in a TOML file; files that it names count from its folder.

    Args:
        path: The TOML file.

    Raises:
        ConfigError: The file cannot be read, or does not describe a scenario; the message names
            the file and the key.
    """
    with naming(path):
        return parse_scenario(_read(path), Path(path).parent)


def load_server(path: str | Path) -> tuple[tuple[Queue, ...], ServerSettings, int]:
    """Return the queues, the settings and the seed in a server's TOML file.

    Args:
        path: The TOML file; its tables `[arrivals]` and `[attributes]` are ignored.

    Raises:
        ConfigError: The file cannot be read, or a server cannot run it; the message names the
            file and the key.
    """
    with naming(path):
        found = parse_server(_read(path), Path(path).parent)
        check_hooks(*found[:2])
        return found


def load_tenants(path: str | Path) -> tuple[Tenant, ...]:
    """Return the games that a server's TOML file names; none where it describes one itself.

    Args:
        path: The TOML file.

    Raises:
        ConfigError: The file cannot be read, or names games beside queues of its own.
    """
    with naming(path):
        shape = _shape(read_document(_read(path)))
        if not shape.tenant:
            return ()
        if shape != ScenarioShape(tenant=shape.tenant):
            ROOT.at("tenant").refuse(
                "stands alone: queues and settings are in the file that each one names"
            )
        return build_tenants(shape.tenant, Path(path).parent, ROOT.at("tenant"))


def load_document(path: str | Path) -> dict[str, object]:
    """Return the keys of a TOML file, for `server_of`.

    Raises:
        ConfigError: The file cannot be read, or is no TOML; the message names it.
    """
    with naming(path):
        return read_document(_read(path))


def read_document(text: str) -> dict[str, object]:
    """Return the keys of a TOML text.

    Raises:
        ConfigError: The text is no TOML.
    """
    _check_dots(text)
    try:
        return tomllib.loads(text)
    except ValueError as error:
        # Not only of the syntax: a number of thousands of digits is none that Python reads.
        raise ConfigError(f"must be valid TOML: {error}") from None
    except RecursionError:
        raise ConfigError("must not nest tables and lists this deep") from None


def _check_dots(text: str) -> None:
    """Refuse a key of very many parts, of which a parser makes a table each, all at once."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") >= PARTS_MAX and DOTTED.search(line):
            raise ConfigError(
                f"must be valid TOML: line {number} has a key of more than {PARTS_MAX} parts"
            )


def parse_scenario(text: str, base_dir: str | Path | None = None) -> Scenario:
    r"""Return the scenario in a TOML text.

    Args:
        text: The TOML.
        base_dir: The folder from which relative file names count; None leaves them as they are.

    Raises:
        ConfigError: The text does not describe a scenario.

    >>> parse_scenario("[[queue]]\nwait_max = 60").queues[0].name
    'main'
    """
    return scenario_of(read_document(text), base_dir)


def scenario_of(document: Mapping[str, object], base_dir: str | Path | None = None) -> Scenario:
    """Return the scenario from the keys of a file, wherever they are from.

    Args:
        document: Keys and values, as TOML gives them.
        base_dir: The folder from which relative file names count; None leaves them as they are.

    Raises:
        ConfigError: They do not describe a scenario.
    """
    shape = _shape(document)
    folder = None if base_dir is None else Path(base_dir)
    _refuse_tenants(shape)
    queues = _queues(shape, _table_reader(folder))
    until = None if shape.until is None else ROOT.at("until").within(shape.until, SECONDS)
    if shape.arrivals is None and shape.attributes:
        ROOT.at("attributes").refuse("are drawn only for arrivals; add [arrivals]")
    return Scenario(
        queues=queues,
        arrivals=(
            None
            if shape.arrivals is None
            else build_arrivals(shape.arrivals, shape.attributes, queues, until, folder)
        ),
        seed=_seed(shape),
        until=until,
        solve_time=ROOT.at("solve_time").within(shape.solve_time, WAITS),
        warmup=ROOT.at("warmup").within(shape.warmup, WAITS),
        answers=_answers(shape.answers),
        outcomes=None if shape.outcomes is None else _outcomes(shape.outcomes),
    )


def parse_server(
    text: str, base_dir: str | Path | None = None
) -> tuple[tuple[Queue, ...], ServerSettings, int]:
    """Return the queues, the settings and the seed in a TOML text.

    Args:
        text: The TOML.
        base_dir: The folder from which relative file names count; None leaves them as they are.

    Raises:
        ConfigError: A server cannot run it.
    """
    return server_of(read_document(text), base_dir)


def server_of(
    document: Mapping[str, object], base_dir: str | Path | None = None
) -> tuple[tuple[Queue, ...], ServerSettings, int]:
    """Return the queues, the settings and the seed from the keys of a file, wherever they are from.

    Args:
        document: Keys and values, as TOML or JSON give them.
        base_dir: The folder from which relative file names count; None leaves them as they are.

    Raises:
        ConfigError: A server cannot run it.
    """
    shape = _shape(document)
    folder = None if base_dir is None else Path(base_dir)
    _refuse_tenants(shape)
    queues = _queues(shape, _table_reader(folder))
    return queues, build_settings(shape.server, folder, ROOT.at("server")), _seed(shape)


def check_hooks(queues: tuple[Queue, ...], settings: ServerSettings) -> None:
    """Refuse queues whose matches nobody would find a server for.

    Raises:
        ConfigError: One names a hook that there is not.
    """
    known = {hook.name for hook in settings.allocation}
    for queue in queues:
        if queue.allocation is not None and queue.allocation not in known:
            at = queue_place(ROOT, queue.name).at("allocation")
            at.refuse(
                f'= "{queue.allocation}" names no hook; add [server.allocation.{queue.allocation}]'
            )


def _read(path: str | Path) -> str:
    try:
        with Path(path).open("rb") as file:
            data = file.read(BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(f"cannot be read: {reason or error}") from None
    if len(data) > BYTES_MAX:
        raise ConfigError(f"must be a file of at most {BYTES_MAX:,} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"must be UTF-8 text, and byte {error.start} is not") from None


def _shape(document: Mapping[str, object]) -> ScenarioShape:
    try:
        return decode(document, ScenarioShape, ROOT)
    except RecursionError:
        raise ConfigError("must not nest tables and lists this deep") from None


def _refuse_tenants(shape: ScenarioShape) -> None:
    if shape.tenant:
        ROOT.at("tenant").refuse("is for evenmatch serve; name the file of one game")


def _table_reader(folder: Path | None) -> ReadTable:
    """Return what reads a column of a file as a table of percentiles."""

    def read(file: str, column: str, at: Place) -> tuple[float, ...]:
        name = locate_file(file, folder, at)
        try:
            return quantiles_of(numbers_in(name, column))
        except ArrivalsError as error:
            at.refuse(f"cannot be used: {error}")

    return read


def _queues(shape: ScenarioShape, read_table: ReadTable) -> tuple[Queue, ...]:
    queues = build_queues(shape.queue, ROOT, read_table)
    for queue in queues:
        check_queue(queue)
        at = queue_place(ROOT, queue.name)
        if queue.switchback is None:
            _check_policy(queue, at.at("policy"))
        else:
            for index, policy in enumerate(queue.switchback.policies):
                arm = msgspec.structs.replace(queue, policy=policy)
                _check_policy(arm, at.at("switchback").at("policies").at(index))
        if queue.shadow is not None:
            _check_policy(msgspec.structs.replace(queue, policy=queue.shadow), at.at("shadow"))
    return queues


def _check_policy(queue: Queue, at: Place) -> None:
    """Refuse a SPEC that no policy understands, or that contradicts the queue's own rules."""
    try:
        rules_of(parse_policy(queue.policy), queue)
    except MatchmakingError as error:
        at.refuse(f'= "{queue.policy}": {error}')


def _outcomes(shape: OutcomesShape) -> OutcomeModel:
    at = ROOT.at("outcomes")
    return OutcomeModel(
        shape.skill,
        at.at("scale").within(shape.scale, SCALES),
        at.at("draws").within(shape.draws, DRAWS),
        at.at("lasts").within(shape.lasts, WAITS),
    )


def _seed(shape: ScenarioShape) -> int:
    return shape.seed if shape.seed >= 0 else ROOT.at("seed").refuse_value(">= 0", shape.seed)


def _answers(shape: AnswersShape) -> Answers:
    at = ROOT.at("answers")
    decline = at.at("decline").within(shape.decline, SHARES)
    silent = at.at("silent").within(shape.silent, SHARES)
    if decline + silent > 1.0:
        at.at("silent").refuse_value(f"at most 1 - decline = {1.0 - decline:g}", silent)
    return Answers(decline, silent, at.at("seconds").within(shape.seconds, WAITS))


def queue_of(raw: Mapping[str, object], base_dir: str | Path | None = None) -> Queue:
    """Return a queue from the keys of a `[[queue]]` table, wherever they come from.

    Args:
        raw: Keys and values, as TOML or JSON give them.
        base_dir: The folder from which relative file names count; None leaves them as they are.

    Raises:
        ConfigError: They do not describe a queue.
    """
    shape = decode({"queue": [dict(raw)]}, ScenarioShape, ROOT)
    (queue,) = _queues(shape, _table_reader(None if base_dir is None else Path(base_dir)))
    return queue

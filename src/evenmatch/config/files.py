"""Strict TOML: scenarios to simulate, and the queues and settings of a server.

Both have the same format; a server ignores `[arrivals]` and `[attributes]`, a simulation ignores
`[server]`. A file that cannot work as written is refused with a ConfigError: one sentence that
names the key and says what is allowed.
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from evenmatch.config.arrivals import build_arrivals
from evenmatch.config.queues import FileReaders, build_queues
from evenmatch.config.server import ServerSettings, Tenant
from evenmatch.config.tables import ScenarioTable
from evenmatch.criteria.percentile import quantiles_of, samples_of
from evenmatch.criteria.validation.queue import check_queue, queue_place
from evenmatch.errors import ArrivalsError, ConfigError, MatchmakingError
from evenmatch.model.checks import Place, decode, is_noted
from evenmatch.model.queue import Queue, Switchback
from evenmatch.model.scenario import SHIPPED, Scenario
from evenmatch.model.shards import shards_of
from evenmatch.policies.hooks import check_conditions, rules_of
from evenmatch.policies.registry import parse_policy
from evenmatch.simulation.arrivals.tables import numbers_in

if TYPE_CHECKING:
    from evenmatch.rules.flexmatch.checker.match import Readings
    from evenmatch.rules.flexmatch.compile import CompiledRuleSet

Value = TypeVar("Value", bound=msgspec.Struct)
BYTES_MAX = 1_000_000
PIPES = 8
"""Pipes whose text is remembered; a command names no more."""
PARTS_MAX = 16
"""Most parts of a dotted key."""
_PART = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')"""
DOTTED = re.compile(rf"(?<![\w-]){_PART}(?:[ \t]*\.[ \t]*{_PART}){{{PARTS_MAX}}}")
"""A key with more parts than that."""
ROOT = Place()


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Put the name of the configuration's file before an error message, once."""
    try:
        yield
    except ConfigError as error:
        text = str(error)
        if text.startswith(f"{path}: "):
            raise
        raise ConfigError(f"{path}: {text}") from None


def load_scenario(path: str | Path) -> Scenario:
    """Return the scenario in a TOML file; file names in it are relative to its folder.

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
        document = read_document(_read(path))
        found = server_of(document, Path(path).parent)
        check_hooks(*found[:2])
        check_targets(document, found[1])
        return found


def load_tenants(path: str | Path) -> tuple[Tenant, ...]:
    """Return the games that a server's TOML file names; none if it describes one itself.

    Args:
        path: The TOML file.

    Raises:
        ConfigError: The file cannot be read, or names games beside queues of its own.
    """
    with naming(path):
        table = _table(read_document(_read(path)))
        if not table.tenant:
            return ()
        if table != ScenarioTable(tenant=table.tenant):
            ROOT.at("tenant").refuse(
                "must stand alone: write queues and settings in the file that each tenant names"
            )
        names = [each.name for each in table.tenant]
        for index, name in enumerate(names):
            if name in names[:index]:
                at = ROOT.at("tenant").at(index).at("name")
                at.refuse(f'"{name}" is taken; names must be different')
        return tuple(locate_files(each, Path(path).parent) for each in table.tenant)


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
        if text.lstrip().startswith("{"):
            raise ConfigError(
                "must be TOML, and seems to be JSON: evenmatch import flexmatch or playfab makes a "
                "configuration of a rule set or a queue"
            ) from None
        # Syntax is not the only reason: Python refuses numbers with thousands of digits.
        raise ConfigError(f"must be valid TOML: {error}") from None
    except RecursionError:
        raise ConfigError("must not nest tables and lists this deeply") from None


def _check_dots(text: str) -> None:
    """Refuse keys of very many parts, since a parser would make a table of each part at once."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") >= PARTS_MAX and DOTTED.search(line):
            raise ConfigError(
                f"must be valid TOML: line {number} has a key of more than {PARTS_MAX} parts"
            )


def parse_scenario(text: str, base_dir: str | Path | None = None) -> Scenario:
    r"""Return the scenario in a TOML text.

    Args:
        text: The TOML.
        base_dir: The folder to which file names are relative; None leaves them as they are.

    Raises:
        ConfigError: The text does not describe a scenario.

    >>> parse_scenario("[[queue]]\nwait_max = 60").queues[0].name
    'main'
    """
    return scenario_of(read_document(text), base_dir)


def scenario_of(document: Mapping[str, object], base_dir: str | Path | None = None) -> Scenario:
    """Return the scenario from the keys of a file, whatever their source.

    Args:
        document: Keys and values, as TOML gives them.
        base_dir: The folder to which file names are relative; None leaves them as they are.

    Raises:
        ConfigError: They do not describe a scenario.
    """
    table = _table(_without(document, "server"))
    folder = None if base_dir is None else Path(base_dir)
    _refuse_tenants(table)
    queues = _queues(table, _readers(folder))
    if table.arrivals is None and table.attributes:
        ROOT.at("attributes").refuse("are drawn only for arrivals; add [arrivals]")
    given = {key: getattr(table, key) for key in Scenario.__struct_fields__}
    given["queues"] = queues
    if table.arrivals is not None:
        built = build_arrivals(table.arrivals, table.attributes, queues, table.until)
        given["arrivals"] = locate_files(built, folder)
    return Scenario(**given)


def parse_server(
    text: str, base_dir: str | Path | None = None
) -> tuple[tuple[Queue, ...], ServerSettings, int]:
    """Return the queues, the settings and the seed in a TOML text.

    Args:
        text: The TOML.
        base_dir: The folder to which file names are relative; None leaves them as they are.

    Raises:
        ConfigError: A server cannot run it.
    """
    return server_of(read_document(text), base_dir)


def server_of(
    document: Mapping[str, object], base_dir: str | Path | None = None
) -> tuple[tuple[Queue, ...], ServerSettings, int]:
    """Return the queues, the settings and the seed from the keys of a file, whatever their source.

    Args:
        document: Keys and values, as TOML or JSON give them.
        base_dir: The folder to which file names are relative; None leaves them as they are.

    Raises:
        ConfigError: A server cannot run it.
    """
    table = _table(_without(document, "arrivals", "attributes"))
    folder = None if base_dir is None else Path(base_dir)
    _refuse_tenants(table)
    queues = _queues(table, _readers(folder))
    if "gamelift" in document:
        # Imported here, as below, since most files do not use the formats of other matchmakers.
        from evenmatch.config.gamelift import build_gamelift_queues, gamelift_of

        queues = _with_configurations(queues, build_gamelift_queues(gamelift_of(document), ROOT))
    return queues, locate_files(table.server, folder), table.seed


def _with_configurations(
    queues: tuple[Queue, ...], configured: tuple[Queue, ...]
) -> tuple[Queue, ...]:
    """Return all queues of a file, both from its tables and from its configurations."""
    names = {queue.name for queue in queues}
    for queue in configured:
        if queue.name in names:
            at = ROOT.at("gamelift").at("configurations").at(queue.name)
            at.refuse("has the name of a queue; names must be different")
        check_queue(queue)
    return (*queues, *configured)


def check_hooks(queues: tuple[Queue, ...], settings: ServerSettings) -> None:
    """Refuse queues for whose matches no hook would find a server.

    Raises:
        ConfigError: A queue names a hook that does not exist.
    """
    for queue in queues:
        if queue.allocation is not None and queue.allocation not in settings.allocation:
            at = queue_place(queue.name).at("allocation")
            at.refuse(
                f'= "{queue.allocation}" names no hook; add [server.allocation.{queue.allocation}]'
            )


def check_targets(document: Mapping[str, object], settings: ServerSettings) -> None:
    """Refuse configurations whose events would be sent to a webhook that does not exist.

    Args:
        document: The keys of a file.
        settings: Those of the server.

    Raises:
        ConfigError: There is one.
    """
    if "gamelift" not in document:
        return
    from evenmatch.config.gamelift import gamelift_of, target_in

    for name, each in gamelift_of(document).configurations.items():
        target = target_in(each.notification_target)
        if target and target not in settings.notifications:
            at = ROOT.at("gamelift").at("configurations").at(name).at("notification_target")
            at.refuse(
                f'= "{each.notification_target[:300]}" names no webhook; add '
                f"[server.notifications.{target[:64]}]"
            )


def files_in(document: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield the key and the name of each file that the queues of a configuration name.

    Args:
        document: The keys of a file; its `[server]` is not looked at.

    Raises:
        ConfigError: A key is unknown, or a value is not allowed; no file was read.
    """
    yield from _files_in(_table(_without(document, "server")))


def _files_in(value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, msgspec.Struct):
        for field in msgspec.structs.fields(type(value)):
            found = getattr(value, field.name)
            if is_noted(field.type, "file"):
                names = (found,) if isinstance(found, str) else found or ()
                yield from ((field.encode_name, name) for name in names)
            else:
                yield from _files_in(found)
    elif isinstance(value, tuple | list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _files_in(each)


def _is_special(path: str | Path) -> bool:
    """Return whether a name is that of a pipe or a device: to read one may never end."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False  # Who opens it says why that cannot be done.
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def bytes_of(path: str | Path) -> bytes:
    """Return what a file holds, up to a byte more than a configuration may have.

    A pipe, such as `<(...)` in a shell, gives its text once, and a command looks at a configuration
    several times: the later looks get what the first one got.
    """
    found = os.stat(path)
    if stat.S_ISFIFO(found.st_mode):
        return _bytes_of_pipe((str(path), found.st_dev, found.st_ino))
    return _first_bytes(path)


@lru_cache(maxsize=PIPES)
def _bytes_of_pipe(pipe: tuple[str, int, int]) -> bytes:
    return _first_bytes(pipe[0])


def _first_bytes(path: str | Path) -> bytes:
    with Path(path).open("rb") as file:
        return file.read(BYTES_MAX + 1)


def _read(path: str | Path) -> str:
    try:
        data = bytes_of(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(f"cannot be read: {reason or error}") from None
    if len(data) > BYTES_MAX:
        raise ConfigError(f"must be a file of at most {BYTES_MAX:,} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"must be UTF-8 text, and byte {error.start} is not") from None


def _table(document: Mapping[str, object]) -> ScenarioTable:
    try:
        return decode(_without(document, "gamelift"), ScenarioTable, ROOT)
    except RecursionError:
        raise ConfigError("must not nest tables and lists this deeply") from None


def _without(document: Mapping[str, object], *keys: str) -> dict[str, object]:
    return {key: value for key, value in document.items() if key not in keys}


def _refuse_tenants(table: ScenarioTable) -> None:
    if table.tenant:
        ROOT.at("tenant").refuse("is for evenmatch serve; name the file of one game")


def _readers(folder: Path | None) -> FileReaders:
    """Return readers of a file's column as a table of percentiles, and of a file of rules."""

    def regular(file: str, at: Place) -> str:
        path = _located(file, folder)
        if _is_special(path):
            at.refuse(f'= "{file}" cannot be used: it is not a regular file')
        return path

    def table(file: str, column: str, at: Place) -> tuple[float, ...]:
        try:
            return quantiles_of(numbers_in(regular(file, at), column))
        except ArrivalsError as error:
            at.refuse(f"cannot be used: {error}")

    def rules(file: str, readings: Readings, at: Place) -> CompiledRuleSet:
        from evenmatch.rules.languages import load_rules

        try:
            return load_rules(_read(regular(file, at)), readings)
        except ConfigError as error:
            at.refuse(f'= "{file}" cannot be used: {error}')

    return FileReaders(table, rules)


def _queues(table: ScenarioTable, read: FileReaders) -> tuple[Queue, ...]:
    queues = build_queues(table.queue, ROOT, read)
    for queue in queues:
        check_queue(queue)
        at = queue_place(queue.name)
        if queue.switchback is None:
            _check_policy(queue, at.at("policy"))
        else:
            for index, policy in enumerate(queue.switchback.policies):
                arm = msgspec.structs.replace(queue, policy=policy)
                _check_policy(arm, at.at("switchback").at("policies").at(index))
            _check_turns(queue, queue.switchback, at.at("switchback").at("policies"))
        if queue.shadow is not None:
            _check_policy(msgspec.structs.replace(queue, policy=queue.shadow), at.at("shadow"))
    shards_of(queues)  # Refuses those that stay together and are split in different ways.
    return queues


def _check_policy(queue: Queue, at: Place) -> None:
    """Refuse a SPEC that no policy understands, or that contradicts the queue's own rules."""
    try:
        policy = parse_policy(queue.policy)
        rules_of(policy, queue)
        check_conditions(policy, queue)
    except MatchmakingError as error:
        at.refuse(f'= "{queue.policy}": {error}')


def _check_turns(queue: Queue, turns: Switchback, at: Place) -> None:
    """Refuse policies of which one has no place for tickets that came in the turn of another."""
    samples = []
    for policy in turns.policies:
        rules = queue.rules + rules_of(parse_policy(policy), queue)
        samples.append(samples_of(msgspec.structs.replace(queue, rules=rules)))
    for index, each in enumerate(samples):
        if each != samples[0]:
            at.at(index).refuse(
                f'= "{turns.policies[index]}" and "{turns.policies[0]}" do not take the same '
                f"percentiles among the last tickets, so that whoever waits when the turn changes "
                f"would end; write the limit below [[queue.rules]], where it holds in all turns"
            )


def locate_files(value: Value, folder: Path | None) -> Value:
    """Return a value with file names made relative to a folder; without one it is unchanged."""
    if folder is None:
        return value
    found: dict[str, Any] = {}
    for field in msgspec.structs.fields(type(value)):
        given = getattr(value, field.name)
        if isinstance(given, msgspec.Struct):
            found[field.name] = locate_files(given, folder)
        elif isinstance(given, dict):
            found[field.name] = {
                key: locate_files(each, folder) if isinstance(each, msgspec.Struct) else each
                for key, each in given.items()
            }
        elif given and is_noted(field.type, "file"):
            found[field.name] = (
                _located(given, folder)
                if isinstance(given, str)
                else tuple(_located(each, folder) for each in given)
            )
    return msgspec.structs.replace(value, **found)


def _located(name: str, folder: Path | None) -> str:
    return name if folder is None or name.startswith(SHIPPED) else str(folder / name)


def queue_of(raw: Mapping[str, object], base_dir: str | Path | None = None) -> Queue:
    """Return a queue from the keys of a `[[queue]]` table, whatever their source.

    Args:
        raw: Keys and values, as TOML or JSON give them.
        base_dir: The folder to which file names are relative; None leaves them as they are.

    Raises:
        ConfigError: They do not describe a queue.
    """
    table = decode({"queue": [dict(raw)]}, ScenarioTable, ROOT)
    (queue,) = _queues(table, _readers(None if base_dir is None else Path(base_dir)))
    return queue

"""`backup` and `export` as they are called, on the journal of an engine that has played."""

import asyncio
import csv
import errno
import json
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

import msgspec
import pytest

import evenmatch
import evenmatch.cli.backup
from evenmatch.cli.main import main
from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record
from evenmatch.engine.state.snapshot import encode_snapshot, take
from evenmatch.journals import copying, restoring
from evenmatch.journals.backup import BackupContents, Say
from evenmatch.journals.sqlite import SqliteJournal
from evenmatch.lab.export.anonymise import Disguise
from evenmatch.model.inputs import Advance, Assign, Cancel, Configure, Enqueue, Input
from evenmatch.model.queue import Criterion, Format, Queue, Rule, Scale
from evenmatch.model.ticket import NewTicket, Player, Rating, Value
from evenmatch.policies.registry import parse_policy

CONFIG = """
[[queue]]
name = "squads"
players = 2
wait_max = 60.0
criteria = [{kind = "spread", attribute = "rating", scale = {max = 2000}}, {kind = "latency"}]
rules = [{kind = "same", attribute = "mode"}, {kind = "avoid"}]
"""
QUEUE = Queue(
    "squads",
    Format((2, 2)),
    (
        Criterion("spread", "rating", scale=Scale(max=2000.0)),
        Criterion("latency", "latency"),
    ),
    (Rule("same", "mode"), Rule("avoid", "avoid")),
    wait_max=60.0,
    attributes=("note",),
)


def person(name: str, rating: float, **facts: Value) -> Player:
    known: dict[str, Value] = {"latency": {"eu": 20.0 + rating / 100, "us": 90.0}, "note": "hi Al"}
    return Player(name, Rating(rating, 80.0), {**known, **facts})


def party(at: float, *players: Player, mode: str = "ranked") -> Enqueue:
    return Enqueue(at, (NewTicket(players, ("squads",), {"mode": mode}),), key=f"secret {at}")


INPUTS: tuple[Input, ...] = (
    Configure(0.0, (QUEUE,), 1),
    party(1.25, person("ann", 1500.0), person("bob", 1400.0)),
    party(2.0, person("cy", 1450.0, avoid=("ann",))),
    party(3.0, person("dee", 1300.0)),
    party(4.5, person("eve", 1480.0), mode="casual"),
    party(5.0, person("fay", 1490.0)),
    Cancel(9.0, "s0-4", "player"),
    Assign(9.5, "s0-m1", {"connect": "10.0.0.7:4000"}),
    party(20.0, person("gus", 1200.0)),
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a data directory with the journal of all inputs, and a snapshot after them."""
    engine = Engine(lambda each: parse_policy(each.policy))
    records: list[Record] = []
    for given in INPUTS:
        while engine.next_wakeup < given.now:
            records.append(engine.step(Advance(engine.next_wakeup)))
        records.append(engine.step(given))
    kept = [record for record in records if record.sequence]

    async def write() -> None:
        journal = SqliteJournal.open(tmp_path / "data")
        epoch = await journal.lease("s0", "me", 1e6)
        await journal.append("s0", "me", epoch, 1, kept)
        await journal.snapshot("s0", kept[-1].sequence, encode_snapshot(take(engine)))
        await journal.close()

    asyncio.run(write())
    return tmp_path / "data"


def write_shard(folder: Path, shard: str, records: list[Record], born: float) -> None:
    """Write each record at its own instant of a clock that began then."""
    wall = born

    async def write() -> None:
        nonlocal wall
        journal = SqliteJournal.open(folder, wall=lambda: wall)
        epoch = await journal.lease(shard, "me", 1e6)
        for record in records:
            wall = born + record.input.now
            await journal.append(shard, "me", epoch, record.sequence, [record])
        await journal.close()

    asyncio.run(write())


def played(config: Path, arrivals: Path) -> evenmatch.Run:
    return evenmatch.simulate(config, arrivals=arrivals)


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    """Let others read files as they usually may, whatever a command does about that."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def test_nobody_else_may_read_copies_and_exports(tmp_path: Path, data: Path) -> None:
    copy, sheet, columns = tmp_path / "copy", tmp_path / "t.csv", tmp_path / "u.parquet"
    for given in (
        ["backup", str(data), str(copy)],
        ["export", str(data), "--out", str(sheet)],
        ["export", str(data), "--out", str(columns), "--anonymise"],
    ):
        os.umask(0o022)
        assert main(given) == 0
    written = [sheet, columns, *tmp_path.glob("*.matches.jsonl"), copy, *copy.iterdir()]
    assert len(written) >= 6
    modes = {path.name: oct(path.stat().st_mode & 0o077) for path in written}
    assert set(modes.values()) == {"0o0"}, modes


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_simulation_of_what_was_exported_makes_the_same_matches(
    tmp_path: Path, data: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out, config = tmp_path / f"t.{kind}", tmp_path / "c.toml"
    config.write_text(CONFIG)
    assert main(["export", str(data), "--out", str(out)]) == 0
    run, recorded = played(config, out), lines(tmp_path / "t.matches.jsonl")

    assert "holds 6 tickets in" in capsys.readouterr().out
    assert len(recorded) == 1
    for match, known in zip(run.matches, recorded, strict=True):
        assert {key: match[key] for key in ("at", "tickets", "teams", "cost", "quality")} == {
            key: known[key] for key in ("at", "tickets", "teams", "cost", "quality")
        }
    states = {str(row["ticket"]): row["state"] for row in run.tickets}
    assert states["s0-4"] == "cancelled"


def test_anonymised_trace_plays_alike_and_names_nobody(
    tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, config = tmp_path / "t.csv", tmp_path / "c.toml"
    config.write_text(CONFIG)
    assert main(["export", str(data), "--out", str(out), "--anonymise"]) == 0
    told = capsys.readouterr().out
    text = out.read_text() + (tmp_path / "t.matches.jsonl").read_text()

    assert "hashes under a key that nobody has" in told
    for word in ("ann", "eve", "gus", "ranked", "hi Al", "note", "secret", "10.0.0.7", "s0-"):
        assert word not in text, word
    run, (known,) = played(config, out), lines(tmp_path / "t.matches.jsonl")
    (match,) = run.matches
    assert (match["at"], match["quality"]) == (known["at"], known["quality"])
    assert match["tickets"] == known["tickets"]
    assert "latency.eu" in text


def test_no_hash_reads_as_a_number() -> None:
    disguise = Disguise((), ())
    for number in range(20_000):
        with pytest.raises(ValueError, match="could not convert"):
            float(disguise.hide(str(number)))


def test_ratings_of_an_anonymised_trace_are_shared_and_it_is_told_how_many_are_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn = random.Random(1)
    people = [person(f"p{number}", drawn.gauss(1500.0, 300.0)) for number in range(1_000)]
    crowd = tuple([NewTicket((p,), ("squads",), {"mode": p.id}) for p in people])
    engine = Engine(lambda queue: parse_policy(queue.policy))
    records = [engine.step(each) for each in (INPUTS[0], Enqueue(1.0, crowd))]

    async def write() -> None:
        journal = SqliteJournal.open(tmp_path / "data")
        epoch = await journal.lease("s0", "local", 60.0)
        await journal.append("s0", "local", epoch, 1, records)
        await journal.close()

    asyncio.run(write())
    assert (
        main(["export", str(tmp_path / "data"), "--out", str(tmp_path / "t.csv"), "--anonymise"])
        == 0
    )
    told = capsys.readouterr().out
    with (tmp_path / "t.csv").open(newline="") as file:
        ratings = [row["rating"] for row in csv.DictReader(file)]
    shared = Counter(ratings)
    alone = sum(shared[rating] == 1 for rating in ratings)
    assert f"Of 1,000 players with a rating, {alone} have one that nobody else has." in told
    # Without rounding, nearly every rating would occur once.
    assert alone < 100
    assert all(float(rating) % 5.0 == 0.0 for rating in ratings)


def write_duels(folder: Path, rule: Rule, values: Sequence[Value]) -> int:
    """Write the journal of a queue with one rule; return how many matches it has.

    Player number 1 has the id `1`, and so on.
    """
    engine = Engine(lambda each: parse_policy(each.policy))
    queue = Queue("duel", Format((1, 1)), rules=(rule,), policy="greedy", wait_max=60.0)
    records = [engine.step(Configure(0.0, (queue,), 1))]
    for number, value in enumerate(values, 1):
        player = Player(str(number), attributes={rule.attribute: value})
        arrived = Enqueue(float(number), (NewTicket((player,), ("duel",)),))
        records.append(engine.step(arrived))
    write_shard(folder, "s0", records, 1_000.0)
    return len(engine.tables.matches)


def matches_of(tmp_path: Path, rule: Rule, out: Path) -> int:
    """Return how many matches a simulation of exported arrivals makes."""
    config = tmp_path / "duel.toml"
    config.write_text(
        'until = 60.0\n[[queue]]\nname = "duel"\npolicy = "greedy"\nwait_max = 60.0\n'
        f'rules = [{{kind = "{rule.kind}", attribute = "{rule.attribute}"}}]\n'
    )
    return len(played(config, out).matches)


def matches_before_and_after(
    tmp_path: Path, rule: str, values: list[Value], kind: str
) -> tuple[int, int]:
    """Return how many matches a journal has, and a simulation of what is exported of it."""
    compared, out = Rule(rule, "version"), tmp_path / f"t.{kind}"
    made = write_duels(tmp_path / "data", compared, values)
    assert main(["export", str(tmp_path / "data"), "--out", str(out)]) == 0
    return made, matches_of(tmp_path, compared, out)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize(
    ("rule", "values", "matches"),
    [
        ("same", ["1.10", "1.1"], 0),
        ("same", ["007", "7"], 0),
        ("same", ["007", "7", "007"], 1),
        ("same", ["nan", "nan"], 1),
        ("same", ["Infinity", "x", "Infinity"], 1),
        ("same", ["7", "%37"], 0),
        ("same", ["7", 7.0], 0),
        ("avoid", [("02",), ()], 1),
        ("avoid", [("2",), ()], 0),
        ("avoid", ["2", ()], 0),
        ("overlap", ["7", ("7", "8")], 1),
        ("overlap", [("1e", "5"), ("1e5",)], 0),
        ("overlap", [("1e", "5"), ("5",)], 1),
        ("overlap", [("nan",), ("nan",)], 1),
    ],
)
def test_texts_like_numbers_stay_texts(
    tmp_path: Path, rule: str, values: list[Value], matches: int, kind: str
) -> None:
    assert matches_before_and_after(tmp_path, rule, values, kind) == (matches, matches)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize(
    ("rule", "values", "matches"),
    [
        ("same", ["x|y", "x_y"], 0),
        ("same", ["x|y", "x|y"], 1),
        ("same", ["a+b", "a_b"], 0),
        ("same", ["a+b", ("a", "b")], 0),
        ("same", [" x", "x", "x ", "\n x", "\tx"], 0),
        ("same", ["=x", "'=x"], 0),
        ("same", ["%7C", "|"], 0),
        ("same", ["", "%", "-"], 0),
        ("same", ["", ""], 1),
        ("overlap", [("a|b", "c"), ("a_b", "d")], 0),
    ],
)
def test_different_texts_stay_different(
    tmp_path: Path, rule: str, values: list[Value], matches: int, kind: str
) -> None:
    assert matches_before_and_after(tmp_path, rule, values, kind) == (matches, matches)


@pytest.mark.parametrize(
    ("attribute", "column"),
    [("a.b", "a_b"), ("size", "size_"), ("player", "player_"), (" x", "_x"), ("=x", "_x")],
)
def test_attributes_that_no_column_can_be_named_after_get_other_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], attribute: str, column: str
) -> None:
    out = tmp_path / "t.csv"
    assert write_duels(tmp_path / "data", Rule("avoid", attribute), [("2",), ()]) == 0
    assert main(["export", str(tmp_path / "data"), "--out", str(out)]) == 0
    assert f"rules must use: {attribute} is {column}.\n" in capsys.readouterr().out
    assert matches_of(tmp_path, Rule("avoid", column), out) == 0


def test_a_map_with_too_many_keys_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "t.csv"
    pings: list[Value] = [{f"{of}{number}": 10.0 for number in range(60)} for of in "ab"]
    assert write_duels(tmp_path / "data", Rule("same", "pings"), pings) == 0
    assert main(["export", str(tmp_path / "data"), "--out", str(out)]) == 0
    assert "Maps with more than 100 keys are left out: pings.\n" in capsys.readouterr().out
    assert "pings" not in out.read_text()


def test_no_cell_is_a_formula(tmp_path: Path) -> None:
    ids = ("=cmd|' /C calc'!A0", "@SUM(A1)", "+1+cmd", "-x", "ann")
    journal = tmp_path / "data"
    engine = Engine(lambda queue: parse_policy(queue.policy))
    alone = [NewTicket((person(each, -5.5),), ("squads",), {"mode": "a"}) for each in ids]
    records = [engine.step(each) for each in (INPUTS[0], Enqueue(1.0, tuple(alone)))]

    async def write() -> None:
        opened = SqliteJournal.open(journal)
        epoch = await opened.lease("s0", "local", 60.0)
        await opened.append("s0", "local", epoch, 1, records)
        await opened.close()

    asyncio.run(write())
    assert main(["export", str(journal), "--out", str(tmp_path / "t.csv")]) == 0
    with (tmp_path / "t.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["player"][:3] for row in rows] == ["%3D", "%40", "%2B", "%2D", "ann"]
    assert [unquote(row["player"]) for row in rows] == list(ids)
    assert {row["rating"] for row in rows} == {"-5.5"}


def test_two_anonymised_exports_have_no_id_in_common(tmp_path: Path, data: Path) -> None:
    ids = []
    for name in ("one", "two"):
        assert (
            main(["export", str(data), "--out", str(tmp_path / f"{name}.csv"), "--anonymise"]) == 0
        )
        rows = (tmp_path / f"{name}.csv").read_text().splitlines()[1:]
        ids.append({row.split(",")[0] for row in rows})

    assert len(ids[0]) == 6
    assert not ids[0] & ids[1]


@pytest.mark.parametrize(
    ("tokens", "sentence"),
    [
        ([], "name a data directory and a file"),
        (["{data}", "--out", "t.txt"], "--out must end in .parquet or .csv, got t.txt"),
        (["{data}", "--out", "{data}.csv", "--shard", "s9"], "has no shard s9; it has s0"),
    ],
)
def test_export_refuses_what_it_cannot_do(
    data: Path, tokens: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", *(token.format(data=data) for token in tokens)]) == 2
    assert sentence in capsys.readouterr().err


def test_export_overwrites_nothing(
    tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.matches.jsonl").write_text("mine")

    assert main(["export", str(data), "--out", str(tmp_path / "t.csv")]) == 2
    assert "t.matches.jsonl already exists: name another file" in capsys.readouterr().err
    assert (tmp_path / "t.matches.jsonl").read_text() == "mine"


def test_backup_is_made_and_checked(
    tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "monday"
    assert main(["backup", str(data), str(out)]) == 0
    assert f"{out} holds 9 records of shard s0 in" in capsys.readouterr().out
    assert main(["backup", "--check", str(out)]) == 0
    assert "is what was written: 9 records of shard s0" in capsys.readouterr().out
    assert main(["backup", str(data), str(out)]) == 2
    assert "is not empty" in capsys.readouterr().err

    body = bytearray((out / "journal.db").read_bytes())
    body[len(body) // 2] ^= 1
    (out / "journal.db").write_bytes(body)
    assert main(["backup", "--check", str(out)]) == 1
    assert "is not what was written" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("source", "advice"),
    [
        ("postgresql://me:secret@db/games", "evenmatch keys add NAME --journal ADDRESS"),
        ("sqlite:{}/journal.db", "evenmatch keys copy --data {} --journal ADDRESS"),
    ],
)
def test_keys_that_stay_behind_are_told_without_a_password(
    source: str,
    advice: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    contents = BackupContents("journal.db", 1, "", {"s0": 3}, keyed=True)
    monkeypatch.setattr(evenmatch.cli.backup, "back_up", lambda *_: contents)
    monkeypatch.setattr(restoring, "bring_to_server", lambda *_: contents.shards)
    assert main(["backup", source.format(tmp_path), "nats://db"]) == 0
    out = capsys.readouterr().out
    assert advice.format(tmp_path) in out
    assert "secret" not in out


class Bars:
    """Takes the place of the progress bars; no two may be shown at once."""

    def __init__(self) -> None:
        self.shown: list[str] = []
        self.steps = self.total = 0
        self._is_shown = False

    @contextmanager
    def __call__(self, what: str, total: int) -> Iterator[Callable[[], None]]:
        assert not self._is_shown
        self.shown.append(what)
        self.steps, self.total, self._is_shown = 0, total, True
        yield self._step
        self._is_shown = False

    def _step(self) -> None:
        self.steps += 1


@pytest.mark.parametrize(
    ("command", "shown"),
    [(["replay"], "Deciding again"), (["export", "--out", "out.csv"], "Reading the journal")],
)
@pytest.mark.parametrize("is_copied", [False, True])
def test_bars_show_what_goes_on(
    data: Path,
    tmp_path: Path,
    command: list[str],
    shown: str,
    is_copied: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def copy(address: str, path: Path, say: object) -> None:
        path.write_bytes((data / "journal.db").read_bytes())

    bars = Bars()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(copying, "copy_to_file", copy)
    monkeypatch.setattr(f"evenmatch.cli.{command[0]}.progress", bars)
    source = "postgresql://db/games" if is_copied else str(data)
    main([command[0], source, *command[1:]])
    assert bars.shown == [*(["Copying the journal"] if is_copied else []), shown]


def test_bar_of_a_move_ends_when_all_is_compared(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bring(path: Path, address: str, beside: object, say: Say) -> dict[str, int]:
        for what in ("copying", "checking", "reading", "writing", "comparing"):
            assert bars.steps < bars.total
            say(what, 1, 1)
        return {"s0": 9}

    bars = Bars()
    monkeypatch.setattr(evenmatch.cli.backup, "progress", bars)
    monkeypatch.setattr(restoring, "bring_to_server", bring)
    assert main(["backup", str(data), "nats://db"]) == 0
    assert bars.steps == bars.total


def test_backup_needs_two_directories(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["backup", str(tmp_path)]) == 2
    assert "evenmatch backup DATA OUT" in capsys.readouterr().err
    assert main(["backup", str(tmp_path), "--check", str(tmp_path)]) == 2
    assert "give either --check or DATA and OUT" in capsys.readouterr().err
    assert main(["backup", str(tmp_path), str(tmp_path / "out")]) == 2
    assert "there is no journal at" in capsys.readouterr().err


def test_backup_of_what_is_not_a_journal_names_the_original(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    (data / "journal.db").write_text("junk")
    assert main(["backup", str(data), str(out)]) == 1
    assert f"{data / 'journal.db'} is not a journal" in capsys.readouterr().err
    assert not out.exists()


def test_export_that_does_not_reach_its_end_leaves_no_file(
    tmp_path: Path,
    data: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    out = tmp_path / "t.csv"
    with monkeypatch.context() as patched:
        patched.setattr("evenmatch.cli.export.match_row", fail)
        assert main(["export", str(data), "--out", str(out)]) == 2
    matches = tmp_path / "t.matches.jsonl"
    said = f"evenmatch: {matches} cannot be written: No space left on device\n"
    assert capsys.readouterr().err == said
    assert not out.exists()
    assert not matches.exists()
    assert main(["export", str(data), "--out", str(out)]) == 0, "the same name is free again"


def test_export_into_a_folder_that_is_missing_is_refused_before_the_journal_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "missing" / "t.csv"
    assert main(["export", str(tmp_path / "no journal"), "--out", str(out)]) == 2
    assert f"--out: {out} cannot be written: its folder does not exist" in capsys.readouterr().err


def test_export_joins_all_shards_on_one_clock(
    tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arena = Queue("arena", Format((1, 1)), group="casual", policy="greedy")
    born = 1_000.0
    walls = {"s0": born, "s0.casual": born + 2.0}
    folder = tmp_path / "shards"
    for shard, queue in (("s0", msgspec.structs.replace(arena, name="duel")), ("s0.casual", arena)):
        engine = Engine(lambda each: parse_policy(each.policy), shard=shard)
        records = [engine.step(Configure(0.0, (queue,), 1))]
        for at, name in ((1.0, "ann"), (3.0, "bob")):
            ticket = NewTicket((Player(name, Rating(1500.0, 80.0)),), (queue.name,))
            records.append(engine.step(Enqueue(at, (ticket,))))
        write_shard(folder, shard, records, walls[shard])
    out = tmp_path / "t.csv"
    assert main(["export", str(folder), "--out", str(out)]) == 0
    assert "They come from 2 shards: s0, s0.casual." in capsys.readouterr().out
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert [(row["ticket"], float(row["at"])) for row in rows] == [
        ("s0-1", 1.0),
        ("s0-2", 3.0),
        ("s0.casual-1", 3.0),
        ("s0.casual-2", 5.0),
    ]
    matches = lines(tmp_path / "t.matches.jsonl")
    assert [(match["match"], match["at"]) for match in matches] == [
        ("s0-m1", 3.0),
        ("s0.casual-m1", 5.0),
    ]
    alone = tmp_path / "alone.csv"
    assert main(["export", str(folder), "--out", str(alone), "--shard", "s0.casual"]) == 0
    assert [row["at"] for row in csv.DictReader(alone.read_text().splitlines())] == ["1.0", "3.0"]


def test_tickets_with_the_same_id_are_all_exported(tmp_path: Path) -> None:
    """GameLift's callers choose ids; the server takes one again when it has forgotten the first."""
    duel = Queue("duel", Format((1, 1)), policy="greedy", wait_max=60.0)
    folder, out = tmp_path / "data", tmp_path / "t.csv"

    def ticket(at: float, player: str, name: str) -> Enqueue:
        return Enqueue(at, (NewTicket((Player(player),), ("duel",), id=name),))

    for shard in ("s0", "s0.casual"):
        engine = Engine(lambda each: parse_policy(each.policy), shard=shard)
        given: list[Input] = [Configure(0.0, (duel,), 1), ticket(1.0, "ann", "aws:order-7")]
        given += [ticket(200.0 * n, f"p{n}", f"aws:w-{n}") for n in range(1, 30)]
        given += [ticket(6_000.0, "dee", "aws:order-7"), Cancel(6_009.0, "aws:order-7", "player")]
        given += [ticket(9_999.0 + n, f"q{n}", f"aws:w-{n}") for n in (1, 2)]
        records: list[Record] = []
        for each in given:
            while engine.next_wakeup < each.now:
                records.append(engine.step(Advance(engine.next_wakeup)))
            records.append(engine.step(each))
        write_shard(folder, shard, [each for each in records if each.sequence], 1_000.0)
    assert main(["export", str(folder), "--out", str(out)]) == 0
    rows = list(csv.DictReader(out.read_text().splitlines()))
    orders = [row for row in rows if row["ticket"].startswith("aws:order-7")]
    assert len(rows) == len({row["ticket"] for row in rows}) == 66
    assert [float(row["at"]) for row in rows] == sorted(float(row["at"]) for row in rows)
    names = ["aws:order-7", *(f"aws:order-7~{number}" for number in (2, 3, 4))]
    assert {row["ticket"] for row in orders} == set(names)
    assert [(row["player"], row["leaves_at"]) for row in orders[:2]] == [("ann", "")] * 2
    assert [(row["player"], row["leaves_at"]) for row in orders[2:]] == [("dee", "6009.0")] * 2
    players = {row["ticket"]: row["player"] for row in rows}
    matches = map(json.loads, (tmp_path / "t.matches.jsonl").read_text().splitlines())
    seated = [[players[each] for each in match["tickets"]] for match in matches]
    assert seated == [["q1", "q2"]] * 2


@pytest.mark.parametrize(
    "words",
    [
        ("keys", "list", "--journal", "ADDRESS"),
        ("backup", "ADDRESS", "COPY"),
        ("replay", "ADDRESS"),
    ],
)
def test_server_that_is_not_there_is_told_with_what_to_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    places = {"ADDRESS": "postgresql://me:secret@127.0.0.1:1/games", "COPY": f"{tmp_path}/copy"}
    assert main([places.get(word, word) for word in words]) == 1
    error = capsys.readouterr().err
    assert error.endswith(": check the address, and that the server there runs\n")
    assert "secret" not in error


def test_server_without_a_journal_has_nothing_to_back_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Empty:
        async def shards(self) -> list[str]:
            return []

        async def close(self) -> None:
            """Do nothing."""

    monkeypatch.setattr("evenmatch.journals.copying.open_on_server", lambda *_, **__: Empty())
    assert main(["backup", "nats://me:secret@one:4222", f"{tmp_path}/copy"]) == 2
    error = capsys.readouterr().err
    assert "there is no journal at nats://one:4222: check the address" in error
    assert "if several games share it, name one behind it: ADDRESS#GAME" in error
    assert not (tmp_path / "copy").exists()

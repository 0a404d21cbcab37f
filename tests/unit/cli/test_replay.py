"""`replay` as it is called: the same, the first difference, stories, and another policy."""

import json
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evenmatch.cli.main import main
from evenmatch.engine.records import Record
from evenmatch.model.events import Matched, Proposed
from evenmatch.model.inputs import (
    Accept,
    Assign,
    Cancel,
    Configure,
    Decline,
    Enqueue,
    Outcome,
    Void,
)
from evenmatch.model.queue import Criterion, Expansion, Format, Queue, Rule, Scale
from evenmatch.model.queue import ReadyCheck as ReadyCheck
from evenmatch.testing import new_ticket
from tests.unit.lab.journals import Played, delete_before, rewrite

CLOSE = Criterion("spread", "rating", scale=Scale(min=1000.0, max=2000.0))
DUEL = Queue(
    "duel",
    Format((1, 1)),
    (CLOSE,),
    policy="greedy",
    accept=ReadyCheck(10.0, loss_max=0.5),
    rating="elo",
)


INPUTS = "4 enqueue, 2 accept, 1 configure, 1 decline, 1 assign, 1 outcome, 1 cancel"


def a_story() -> Played:
    """Return a world in which dan declines, eve takes his seat, and ada beats her."""
    world = Played().hand_in(Configure(0.0, (DUEL,)))
    for now, name in ((1.0, "ada"), (3.0, "dan"), (4.0, "eve")):
        world.hand_in(Enqueue(now, (new_ticket(name, 1500.0 + now, queues=("duel",)),)))
    world.hand_in(Accept(5.0, "s0-m1", "s0-1"), Decline(6.0, "s0-m1", "s0-2"))
    world.hand_in(Accept(7.5, "s0-m1", "s0-3"))
    world.hand_in(Assign(8.0, "s0-m1", {"connect": "10.0.0.7:4000"}))
    world.hand_in(Outcome(600.0, "s0-m1", ranks=(1.0, 2.0)))
    world.hand_in(Enqueue(601.0, (new_ticket("fay", 1500.0, queues=("duel",)),)))
    return world.hand_in(Cancel(602.0, "s0-4"))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return a_story().write(tmp_path / "data")


def told(capsys: pytest.CaptureFixture[str], *words: str | Path, code: int = 0) -> str:
    assert main(["replay", *map(str, words)]) == code
    out, error = capsys.readouterr()
    return out if code != 2 else error


def as_json(
    capsys: pytest.CaptureFixture[str], *words: str | Path, code: int = 0
) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(told(capsys, *words, "--json", code=code))
    return found


def changed(record: Record) -> Record:
    (event,) = (each for each in record.events if isinstance(each, Matched))
    worse = Matched(msgspec.structs.replace(event.match, quality=0.25))
    events = tuple(worse if each is event else each for each in record.events)
    return msgspec.structs.replace(record, events=events)


def test_a_journal_is_decided_the_same(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = told(capsys, data).splitlines()
    assert lines == [
        f"11 records of shard s0 ({INPUTS}): 4 tickets, 1 match",
        "the inputs alone lead to the same decisions",
    ]
    assert told(capsys, data / "journal.db").splitlines() == lines


def test_a_journal_is_only_read(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = [data / name for name in ("journal.db", "journal.db-ends")]
    before = [path.read_bytes() for path in kept]
    told(capsys, data)
    told(capsys, data, "--match", "s0-m1")
    told(capsys, data, "--policy", "greedy")
    assert [path.read_bytes() for path in kept] == before


def test_json_is_one_object_with_all_figures(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = as_json(capsys, data)
    assert found["same"] is True
    assert found["difference"] is None
    assert (found["first"], found["records"], found["tickets"], found["matches"]) == (1, 11, 4, 1)
    assert found["inputs"]["enqueue"] == 4


def test_what_a_timer_decides_is_told_at_its_own_instant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    widens = Rule("spread", "rating", 50.0, expand=Expansion(rate=10.0))
    world = Played().hand_in(Configure(0.0, (msgspec.structs.replace(DUEL, rules=(widens,)),)))
    for now, name, rating in ((1001.0, "ada", 1500), (1002.0, "bob", 1600), (1030.0, "far", 9000)):
        world.hand_in(Enqueue(now, (new_ticket(name, rating, queues=("duel",)),)))
    proposed, *_, last = world.records[3:]
    assert isinstance(proposed.events[0], Proposed)
    # As if neither the proposal nor its end had ever been written.
    world.records[3:] = [msgspec.structs.replace(last, sequence=4)]
    lines = told(capsys, world.write(tmp_path), code=1).splitlines()
    assert "enqueue at 1,030.000 s, 2001-09-09 01:46:40 UTC" in lines[1]
    now = next(line for line in lines if "now, at 1,007.000 s already" in line)
    assert "they have 10.0 s to accept" in now


def test_a_difference_is_told_in_words_with_exit_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = a_story()
    data = world.write(tmp_path, package="0.0.1")
    rewrite(data, [changed(world.records[6])])
    lines = told(capsys, data, code=1).splitlines()
    assert lines[0].startswith("6 records of shard s0 (3 enqueue")
    assert lines[1] == (
        "record 7 is decided differently now: accept at 7.500 s, 2001-09-09 01:46:40 UTC"
    )
    assert lines[2].startswith("  recorded: match s0-m1 in duel: ada against eve; quality 0.250")
    assert lines[3].startswith("  now: match s0-m1 in duel: ada against eve; quality 0.997")
    assert lines[4] == "  in detail: quality was 0.25, is 0.997"
    assert lines[5].startswith("  perhaps because evenmatch 0.0.1 wrote the record")
    found = as_json(capsys, data, code=1)
    assert found["same"] is False
    assert found["difference"]["record"] == 7
    assert found["difference"]["input"]["kind"] == "accept"
    assert found["difference"]["recorded"][-1]["match"]["quality"] == 0.25
    assert found["difference"]["decided"][-1]["match"]["quality"] == 0.997


def test_a_match_is_told_from_its_tickets_to_its_outcome(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = told(capsys, data, "--match", "s0-m1")
    story = [
        "ticket s0-1 of ada, rated 1,501 begins to wait in duel",
        "match s0-m1 in duel is proposed: ada against dan; quality 0.998",
        "waits: s0-1 2.00 s, s0-2 0.00 s",
        "ada of ticket s0-1 accepted",
        "s0-2 (dan) declined: 1 seat of s0-m1 to be filled",
        "match s0-m1 is repaired, s0-3 (eve) joined: ada against eve",
        "match s0-m1 in duel: ada against eve; quality 0.997",
        "waits: s0-1 6.50 s, s0-3 3.50 s",
        "match s0-m1 has a place to be played: connect 10.0.0.7:4000",
        "the outcome of match s0-m1 counts; the places of its teams: 1, 2",
    ]
    at = [text.find(words) for words in story]
    assert -1 not in at
    assert at == sorted(at)
    assert "fay" not in text


def test_a_player_is_told_of_by_all_their_tickets(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    left = told(capsys, data, "--player", "dan")
    assert "ticket s0-2 of dan, rated 1,503 begins to wait in duel" in left
    assert "ticket s0-2 ended cancelled (declined) and left the proposal s0-m1" in left
    assert "s0-4" not in "".join(left)
    found = as_json(capsys, data, "--player", "dan")
    assert (found["player"], found["ticket"]) == ("dan", None)
    assert found["story"] == as_json(capsys, data, "--ticket", "s0-2")["story"]


def test_a_ticket_is_told_to_its_end(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    left = told(capsys, data, "--ticket", "s0-2")
    assert not [line for line in left.splitlines() if line != line.rstrip()]
    assert "ticket s0-2 of dan, rated 1,503 begins to wait in duel" in left
    assert "ticket s0-2 ended cancelled (declined) and left the proposal s0-m1" in left
    found = as_json(capsys, data, "--ticket", "s0-4")
    assert found["ticket"] == "s0-4"
    begins, ends = found["story"]
    assert (begins["record"], begins["at"], begins["input"]) == (10, 601.0, "enqueue")
    assert ends["words"] == ["ticket s0-4 ended cancelled (player)", "s0-4 had waited 1.00 s"]
    assert ends["events"] == [{"event": "cancelled", "ticket": "s0-4", "reason": "player"}]


def test_a_match_that_was_called_off_says_who_waits_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = msgspec.structs.replace(DUEL, accept=None, backfill="manual")
    world = Played().hand_in(Configure(0.0, (plain,)))
    for now, name in ((1.0, "ada"), (3.0, "bob")):
        world.hand_in(Enqueue(now, (new_ticket(name, 1500.0, queues=("duel",)),)))
    world.hand_in(Void(4.0, "s0-m1", "no server"))
    told_ = told(capsys, world.write(tmp_path), "--ticket", "s0-1")
    assert "match s0-m1 was called off (no server); waiting again" in told_


def test_a_ticket_that_waited_when_the_kept_records_begin_has_its_age(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = Played().hand_in(Configure(0.0, (DUEL,)))
    world.hand_in(Enqueue(1.0, (new_ticket("ada", 1500.0, queues=("duel",)),))).stop()
    world.hand_in(Enqueue(21.0, (new_ticket("bob", 1500.0, queues=("duel",)),)))
    data = world.write(tmp_path)
    delete_before(data, 3)
    text = told(capsys, data, "--match", "s0-m1")
    assert "waits: s0-1 20.0 s, s0-2 0.00 s" in text
    lines = told(capsys, data).splitlines()
    assert lines[0] == "records before 3 are deleted; a snapshot holds their results"


def test_another_policy_is_shown_side_by_side(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(4)
    plain = msgspec.structs.replace(DUEL, accept=None)
    world = Played().hand_in(Configure(0.0, (plain,)))
    for n in range(40):
        arrived = new_ticket(f"p{n}", rng.gauss(1500, 100), queues=("duel",))
        world.hand_in(Enqueue(float(n), (arrived,)))
    data = world.write(tmp_path)
    found = as_json(capsys, data, "--policy", "window:limit=20", "--queue", "duel")
    was, would = found["queues"]["duel"]["journal"], found["queues"]["duel"]["policy"]
    assert (was["matches"], found["policy"]) == (20, "window:limit=20")
    assert would["quality"] > was["quality"]
    text = told(capsys, data, "--policy", "window:limit=20")
    rows = {line[:28].strip(): line[28:].split() for line in text.splitlines()}
    assert rows["matches"] == ["20", str(would["matches"])]
    assert rows["mean quality"] == [f"{was['quality']:.3f}", f"{would['quality']:.3f}"]
    assert "ready-checks, backfill and exclusive matches" in text


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "name a server's data directory: evenmatch replay DATA (see --help)"),
        (("nowhere",), "there is nothing at nowhere: name the data directory of a server"),
        (("DATA", "--shard", "s7"), "the journal has no shard s7; it has s0"),
        (
            ("DATA", "--match", "s0-m99"),
            "no match 's0-m99' in records 1 to 11 of shard s0: give its id, such as s0-m12",
        ),
        (
            ("DATA", "--ticket", "ada"),
            "no ticket 'ada' in records 1 to 11 of shard s0: give its id, such as s0-7",
        ),
        (
            ("DATA", "--player", "zoe"),
            "no player 'zoe' in records 1 to 11 of shard s0: give the id that their tickets name",
        ),
        (
            ("DATA", "--match", "s0-m1", "--policy", "greedy"),
            "give only one of --match and --policy",
        ),
        (("DATA", "--queue", "duel"), "--queue says which queue gets the other policy"),
        (("DATA", "--policy", "nope"), "no policy is called 'nope'"),
    ],
)
def test_bad_input_is_one_sentence_with_exit_code_2(
    words: tuple[str, ...], sentence: str, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [str(data) if word == "DATA" else word for word in words]
    assert sentence in told(capsys, *given, code=2)


def test_a_folder_without_a_journal_is_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "there is no journal at" in told(capsys, tmp_path, code=2)


def test_damage_is_a_failure(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = a_story()
    rewrite(data, [msgspec.structs.replace(world.records[4], sequence=5)])
    delete_before(data, 3)
    assert main(["replay", str(data)]) == 1
    assert "records 1 to 2 of shard 's0' are gone" in capsys.readouterr().err


@pytest.fixture
def shards(data: Path) -> Path:
    """Return a journal of two shards: to that of `a_story`, one where ada beats nobody."""
    casual = msgspec.structs.replace(DUEL, name="arena", group="casual", accept=None)
    world = Played(shard="s0.casual").hand_in(Configure(0.0, (casual,)))
    for now, name in ((1.0, "ada"), (2.0, "gus")):
        world.hand_in(Enqueue(now, (new_ticket(name, 1500.0, queues=("arena",)),)))
    world.write(data)
    return data


def test_all_shards_are_decided_again(shards: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = told(capsys, shards).splitlines()
    assert [line for line in lines if "of shard" in line] == [
        f"11 records of shard s0 ({INPUTS}): 4 tickets, 1 match",
        "3 records of shard s0.casual (2 enqueue, 1 configure): 2 tickets, 1 match",
    ]
    found = as_json(capsys, shards)
    assert found["same"] is True
    assert [each["shard"] for each in found["shards"]] == ["s0", "s0.casual"]
    assert as_json(capsys, shards, "--shard", "s0.casual")["records"] == 3


def test_difference_in_one_shard_of_several_fails(
    shards: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = a_story()
    at = next(i for i, each in enumerate(world.records) if any_match(each))
    rewrite(shards, [changed(world.records[at])])
    assert "is decided differently now" in told(capsys, shards, code=1)
    assert as_json(capsys, shards, code=1)["same"] is False


def any_match(record: Record) -> bool:
    return any(isinstance(each, Matched) for each in record.events)


def test_id_of_a_match_or_ticket_says_its_shard(
    shards: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "match s0.casual-m1 in arena" in told(capsys, shards, "--match", "s0.casual-m1")
    assert "ticket s0.casual-2 of gus" in told(capsys, shards, "--ticket", "s0.casual-2")
    assert "match s0-m1 in duel" in told(capsys, shards, "--match", "s0-m1")
    assert "give its id, such as s0.casual-m12" in told(
        capsys, shards, "--match", "s0.casual-m9", code=2
    )
    assert "it has s0, s0.casual" in told(capsys, shards, "--match", "s0.old-m1", code=2)
    assert "give its id, such as s0-m12" in told(capsys, shards, "--match", "m1", code=2)


def test_id_that_a_caller_chose_is_looked_for_in_all_shards(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    casual = msgspec.structs.replace(DUEL, name="arena", group="casual", accept=None)
    world = Played(shard="s0.casual").hand_in(Configure(0.0, (casual,)))
    for now, name, ticket_id in ((1.0, "ada", "aws:order-7"), (2.0, "gus", "aws:friday")):
        ticket = new_ticket(name, 1500.0, queues=("arena",))
        world.hand_in(Enqueue(now, (msgspec.structs.replace(ticket, id=ticket_id),)))
    world.write(data)
    assert "ticket aws:order-7 of ada" in told(capsys, data, "--ticket", "aws:order-7")
    assert "ticket aws:friday of gus" in told(capsys, data, "--ticket", "aws:friday")
    found = as_json(capsys, data, "--ticket", "aws:order-7")
    assert [each["shard"] for each in found["shards"]] == ["s0.casual"]
    error = told(capsys, data, "--ticket", "aws:order-8", code=2)
    assert "no ticket 'aws:order-8' in records 1 to 11 of shard s0:" in error
    assert "of shard s0.casual:" in error


def test_player_is_looked_for_in_all_shards(
    shards: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = told(capsys, shards, "--player", "ada")
    assert "ticket s0-1 of ada" in out
    assert out.index("shard s0.casual") < out.index("ticket s0.casual-1 of ada")
    assert "shard s0\n" not in told(capsys, shards, "--player", "gus")
    found = as_json(capsys, shards, "--player", "gus")
    assert [each["shard"] for each in found["shards"]] == ["s0.casual"]
    error = told(capsys, shards, "--player", "nobody", code=2)
    assert "of shard s0:" in error
    assert "of shard s0.casual:" in error


def test_other_policy_plays_in_the_shards_that_have_the_queue(
    shards: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = told(capsys, shards, "--policy", "greedy")
    assert out.index("shard s0\n") < out.index("duel") < out.index("shard s0.casual\n")
    found = as_json(capsys, shards, "--policy", "greedy", "--queue", "arena")
    assert [list(each["queues"]) for each in found["shards"]] == [["arena"]]
    error = told(capsys, shards, "--policy", "greedy", "--queue", "nope", code=2)
    assert "no queue 'nope'; it has duel, arena" in error

"""The benches run; what they measure is nobody's business here."""

from pathlib import Path

import msgspec
import pytest

from tests.bench import engine, journal, pools
from tests.bench.__main__ import BENCHES, main
from tests.bench.workload import LARGE, SMALL


def test_quick_benches_print_their_rows_and_write_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = engine.Size(warmup=300, rounds=1, tickets=200, rescanned=40, simulated=100)
    monkeypatch.setattr(engine, "QUICK", {SMALL.name: tiny, LARGE.name: tiny})
    monkeypatch.setattr(journal, "QUICK", (1, 2))
    out = tmp_path / "out.json"

    code = main(["engine", "journal", "--quick", "--json", str(out), "--data", str(tmp_path)])

    printed = capsys.readouterr().out
    found = msgspec.json.decode(out.read_bytes())
    assert code == 0
    assert [bench["bench"] for bench in found["benches"]] == ["engine", "journal"]
    assert all(bench["rows"] for bench in found["benches"])
    assert "engine above its matcher" in printed
    assert "SqliteJournal, acknowledged records" in printed
    assert "load average" in printed
    assert found["machine"]["cores"] >= 1


def test_an_unknown_bench_is_refused_with_the_names_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["nonsense"])

    assert stopped.value.code == 2
    assert ", ".join(BENCHES) in capsys.readouterr().err


def test_the_bench_of_pools_prints_every_way_at_every_size(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "AIMS", {60: "<= 20 ms", 90: "<= 150 ms"})
    monkeypatch.setattr(pools, "SMALL", 60)
    monkeypatch.setattr(pools, "TEAM_PLAYERS", 80)

    code = main(["pools", "--quick", "--data", str(tmp_path)])

    printed = capsys.readouterr().out
    assert code == 0
    assert "1v1, 60 waiting, stable marriage: matched" in printed
    assert "1v1, 90 waiting, evenmatch: mean gap" in printed
    assert "4v4, 80 waiting, stable marriage of teams: matched" in printed

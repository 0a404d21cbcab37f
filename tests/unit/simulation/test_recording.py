"""Recordings as studios have them: their times, their separators, their order, their bad rows."""

from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest

from evenmatch import simulate
from evenmatch.errors import ArrivalsError
from evenmatch.model.queue import Queue, Rule
from evenmatch.model.scenario import Arrivals, Scenario, Uniform
from evenmatch.simulation.arrivals.arrivals import arrivals_of
from evenmatch.simulation.arrivals.file_rows import Timestamps
from evenmatch.simulation.arrivals.stream import ArrivalStream

RATED = Queue(rules=(Rule("spread", "rating", 100.0),))


def stream(folder: Path, text: str, name: str = "a.csv", **keys: object) -> ArrivalStream:
    (folder / name).write_text(text)
    arrivals = Arrivals(process="file", file=name, **keys)  # type: ignore[arg-type]
    return arrivals_of(arrivals, np.random.SeedSequence(1), folder)


def instants(folder: Path, text: str, **keys: object) -> list[float]:
    found = stream(folder, text, **keys)
    return [each.at + found.offset for each in found]


class TestTimes:
    @pytest.mark.parametrize(
        "text",
        [
            "2026-11-22T19:00:03.500Z",
            "2026-11-22T20:00:03.5+01:00",
            "2026-11-22 14:00:03.500000-0500",
            "2026-11-22 19:00:03.5 UTC",
            "2026-11-22T19:00:03.5",
            "20261122T190003.5Z",
            "1795374003.5",
            "1795374003500",
            "1795374003500000",
            "1795374003500000000",
        ],
    )
    def test_of_one_instant_are_equal(self, text: str) -> None:
        assert Timestamps().seconds(text) == 1795374003.5

    def test_of_players_from_all_zones_are_in_one_order(self, tmp_path: Path) -> None:
        text = "at\n2026-11-22T20:00:00+01:00\n2026-11-22T19:00:01Z\n2026-11-22T14:00:02-05:00\n"
        assert [each.at for each in stream(tmp_path, text)] == [0.0, 1.0, 2.0]

    def test_in_small_numbers_are_milliseconds_if_the_unit_says_so(self, tmp_path: Path) -> None:
        assert instants(tmp_path, "at\n0\n1500\n") == [0.0, 1500.0]
        assert instants(tmp_path, "at\n0\n1500\n", unit="ms") == [0.0, 1.5]

    def test_at_which_players_leave_have_the_same_unit(self, tmp_path: Path) -> None:
        (ada,) = stream(tmp_path, "at,leaves_at\n1795374000000,1795374012500\n")
        assert ada.leaves_at == 12.5

    @pytest.mark.parametrize(
        "text", ["24:00", "2026-13-01", "UTC", "yesterday", "2026-11-22T25:00Z"]
    )
    def test_that_are_none_are_refused(self, text: str) -> None:
        with pytest.raises(ValueError, match="must be a time: a number of seconds, or a date"):
            Timestamps().seconds(text)


class TestSeparators:
    @pytest.mark.parametrize("separator", [",", ";", "\t"])
    def test_are_taken_from_the_header(self, tmp_path: Path, separator: str) -> None:
        text = 'at,player,"map, mode"\n5,ada,sea\n'.replace(",", separator)
        (ada,) = stream(tmp_path, text)
        assert ada.ticket.players[0].id == "ada"
        assert ada.ticket.attributes == {f"map{separator} mode": "sea"}

    @pytest.mark.parametrize("before", ["\n\n", "sep=;\n", '"sep=;"\r\n\r\n', "SEP=;\r"])
    def test_are_those_of_the_header_whatever_stands_before_it(
        self, tmp_path: Path, before: str
    ) -> None:
        text = f"{before}at;player\n0,5;ada\n"
        assert instants(tmp_path, text) == [0.5]
        line = 3 + len(before.splitlines())
        with pytest.raises(ArrivalsError, match=f"line {line}, column at: must be a "):
            list(stream(tmp_path, f"{text}soon;bob\n"))

    def test_of_the_header_leave_others_in_cells(self, tmp_path: Path) -> None:
        (ada,) = stream(tmp_path, "at;mode\n5;duel, ranked\n", name="a.tsv")
        assert ada.ticket.attributes == {"mode": "duel, ranked"}

    def test_that_are_semicolons_leave_the_comma_to_numbers(self, tmp_path: Path) -> None:
        text = "at;size;rating;ping.eu;mode\n0,5;2;1500,25|1480;30,5;1,5,x\n"
        (ada,) = stream(tmp_path, text)
        assert ada.at == 0.5
        assert [each.rating and each.rating.mean for each in ada.ticket.players] == [1500.25, 1480]
        assert ada.ticket.attributes == {"ping": {"eu": 30.5}, "mode": "1,5,x"}

    def test_that_are_commas_leave_quoted_numbers_alone(self, tmp_path: Path) -> None:
        with pytest.raises(ArrivalsError, match='must be a number, got "1500,5"'):
            list(stream(tmp_path, 'at,rating\n0,"1500,5"\n'))


class TestColumns:
    def test_that_take_the_times_away_say_so(self, tmp_path: Path) -> None:
        with pytest.raises(ArrivalsError, match="column at is read as att, so another one must"):
            stream(tmp_path, "at,player\n0,ada\n", columns={"att": "at"})

    def test_of_parquet_may_have_times_of_their_own_kind(self, tmp_path: Path) -> None:
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        zone = timezone(timedelta(hours=1))
        times = [datetime(2026, 11, 22, 20, 0, s, 250_000, zone) for s in (3, 1)]
        table = pyarrow.table({"at": times, "player": ["ada", "bob"]})
        parquet.write_table(table, tmp_path / "a.parquet")
        arrivals = Arrivals(process="file", file="a.parquet")
        found = arrivals_of(arrivals, np.random.SeedSequence(1), tmp_path)
        assert found.offset == 1795374001.0
        got = [(each.at, each.ticket.players[0].id) for each in found]
        assert got == [(0.25, "bob"), (2.25, "ada")]


class TestOrder:
    def test_is_by_time_and_by_row_at_one_instant(self, tmp_path: Path) -> None:
        found = stream(tmp_path, "at,player\n7,a\n3.5,b\n7,c\n3.5,d\n")
        assert found.offset == 3.0
        rows = [(each.at, each.ticket.id, each.ticket.players[0].id) for each in found]
        assert rows == [(0.5, "1", "b"), (0.5, "3", "d"), (4.0, "0", "a"), (4.0, "2", "c")]

    def test_of_the_file_changes_no_match(self, tmp_path: Path) -> None:
        rows = [f"{i % 7 + i / 2},p{i},{1500 + 37 * i % 200}" for i in range(60)]
        head = "at,player,rating\n"
        (tmp_path / "a.csv").write_text(head + "\n".join(rows))
        ordered = sorted(rows, key=lambda row: float(row.split(",")[0]))
        (tmp_path / "b.csv").write_text(head + "\n".join(ordered))

        def pairs(name: str) -> list[list[str]]:
            run = simulate(Scenario((RATED,)), arrivals=tmp_path / name)
            lines = (tmp_path / name).read_text().splitlines()[1:]
            return [[lines[int(i)].split(",")[1] for i in m["tickets"]] for m in run.matches]

        assert len(pairs("a.csv")) > 10
        assert pairs("a.csv") == pairs("b.csv")

    def test_decides_which_rows_count_and_duration_keep(self, tmp_path: Path) -> None:
        assert instants(tmp_path, "at\n9\n2\n5\n", count=2) == [2.0, 5.0]
        assert instants(tmp_path, "at\n9\n2\n5\n", duration=3.0) == [2.0, 5.0]


class TestBadRows:
    TEXT = "at,player,rating\n1,a,1500\nsoon,b,1500\n2,c\n3,d,1510\n4,e,high\n5,f,1520\n"

    def test_are_counted_and_the_first_is_named_at_the_start(self, tmp_path: Path) -> None:
        with pytest.raises(ArrivalsError) as caught:
            stream(tmp_path, self.TEXT)
        assert str(caught.value) == (
            "a.csv, line 3, column at: must be a time: a number of seconds, or a date and time "
            'such as 2026-11-22T20:15:00Z, got "soon"; 3 of 6 rows are bad (lines 3, 4, 6): '
            "--skip-bad goes on without them"
        )

    def test_are_left_out_and_named_if_they_are_to_be_skipped(self, tmp_path: Path) -> None:
        found = stream(tmp_path, self.TEXT, skip_bad=True)
        assert [each.ticket.id for each in found] == ["0", "3", "5"]
        assert found.bad is not None
        assert (found.bad.count, found.bad.rows, found.bad.lines) == (3, 6, (3, 4, 6))
        assert found.bad.sentences[1] == "a.csv, line 4: must have 3 cells like the header, got 2"
        assert found.bad.warning().startswith("left out 3 of 6 rows: a.csv, line 3, column at")

    def test_draw_nothing_from_the_good_ones(self, tmp_path: Path) -> None:
        drawn = {"c0": Uniform()}
        good = stream(tmp_path, "at\n1\n2\n", attributes=drawn)
        mixed = stream(tmp_path, "at\n1\nx\n2\n", "b.csv", attributes=drawn, skip_bad=True)
        expected = [each.ticket.players[0].attributes for each in good]
        assert [each.ticket.players[0].attributes for each in mixed] == expected

    def test_are_those_that_a_queue_refuses_too(self, tmp_path: Path) -> None:
        text = "at,player,rating\n1,a,1500\n2,b,\n3,c,1510\n4,d,1e300\n"
        (tmp_path / "a.csv").write_text(text)
        with pytest.raises(ArrivalsError, match=r"2 of 4 rows are bad \(lines 3, 5\)"):
            simulate(Scenario((RATED,)), arrivals=tmp_path / "a.csv")
        arrivals = Arrivals(process="file", file=str(tmp_path / "a.csv"), skip_bad=True)
        run = simulate(Scenario((RATED,), arrivals))
        assert [match["tickets"] for match in run.matches] == [["0", "2"]]
        assert run.summary["skipped"] == 2

    def test_refuse_the_file_if_no_row_is_good(self, tmp_path: Path) -> None:
        with pytest.raises(ArrivalsError, match="none of the 2 rows is good"):
            stream(tmp_path, "at\nx\ny\n", skip_bad=True)

    def test_beyond_the_first_are_only_counted(self, tmp_path: Path) -> None:
        found = stream(tmp_path, "at\n1\n" + "x\n" * 30, skip_bad=True)
        assert found.bad is not None
        assert found.bad.warning().endswith("; and 25 more")
        assert "(lines 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, ...)" in found.bad.refusal()

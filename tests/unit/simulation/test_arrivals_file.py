"""Recorded arrivals: what a row means, and the sentence that each bad one gets."""

import gzip
import sys
from pathlib import Path

import numpy as np
import pytest

from evenmatch import simulate
from evenmatch.config.files import load_scenario
from evenmatch.errors import ArrivalsError
from evenmatch.model.condition import AllOf, AttributeTest, Condition
from evenmatch.model.queue import Format, Queue, Rule
from evenmatch.model.scenario import Arrivals, Choice, Scenario
from evenmatch.model.ticket import NewTicket, Player, Rating
from evenmatch.simulation.arrivals import tables
from evenmatch.simulation.arrivals.arrivals import arrivals_of
from evenmatch.simulation.arrivals.stream import Arrival, ArrivalStream, RowPlace

SCENARIOS = Path(__file__).resolve().parents[3] / "scenarios"


def stream(folder: Path, text: str | bytes, name: str = "a.csv", **keys: object) -> ArrivalStream:
    """Return the arrivals of a file with this text."""
    data = text.encode() if isinstance(text, str) else text
    (folder / name).write_bytes(data)
    return opened(folder, name, **keys)


def opened(folder: Path, name: str, **keys: object) -> ArrivalStream:
    queues = keys.pop("queues", ())
    arrivals = Arrivals(process="file", file=name, **keys)  # type: ignore[arg-type]
    return arrivals_of(arrivals, np.random.SeedSequence(1), folder, queues=queues)  # type: ignore[arg-type]


def tickets(folder: Path, text: str, **keys: object) -> list[NewTicket]:
    return [each.ticket for each in stream(folder, text, **keys)]


def refusal(folder: Path, text: str | bytes, name: str = "a.csv", **keys: object) -> str:
    with pytest.raises(ArrivalsError) as caught:
        list(stream(folder, text, name, **keys))
    return str(caught.value)


class TestTimes:
    def test_are_shifted_by_the_floor_of_the_first(self, tmp_path: Path) -> None:
        found = stream(tmp_path, "at,leaves_at\n1000.5,1010.5\n1001.25,\n")
        assert found.offset == 1000.0
        columns = {"at": "at", "leaves_at": "leaves_at"}
        assert list(found) == [
            Arrival(
                0.5, NewTicket((Player("0"),), id="0"), 10.5, RowPlace("a.csv", 2, columns=columns)
            ),
            Arrival(
                1.25, NewTicket((Player("1"),), id="1"), None, RowPlace("a.csv", 3, columns=columns)
            ),
        ]

    def test_may_be_equal_and_negative(self, tmp_path: Path) -> None:
        found = stream(tmp_path, "at\n-1.5\n-1.5\n0\n")
        assert found.offset == -2.0
        assert [each.at for each in found] == [0.5, 0.5, 2.0]

    def test_count_and_duration_end_a_recording_early(self, tmp_path: Path) -> None:
        text = "at\n0\n1\n2\n3\n"
        assert len(list(stream(tmp_path, text, count=2))) == 2
        assert [each.at for each in stream(tmp_path, text, duration=2.0)] == [0.0, 1.0, 2.0]

    def test_file_without_rows_has_no_arrivals(self, tmp_path: Path) -> None:
        found = stream(tmp_path, "at\n")
        assert (list(found), found.offset) == ([], 0.0)

    def test_patience_is_drawn_where_the_file_does_not_say(self, tmp_path: Path) -> None:
        thirty = Choice(values=(30.0,))
        assert [e.leaves_at for e in stream(tmp_path, "at\n7\n", patience=thirty)] == [30.0]
        said = stream(tmp_path, "at,leaves_at\n7,\n", patience=thirty)
        assert [each.leaves_at for each in said] == [None]


class TestPlayers:
    def test_without_ids_are_numbered_by_their_ticket(self, tmp_path: Path) -> None:
        solo, trio = tickets(tmp_path, "ticket,at,size\nx,0,\ny,0,3\n")
        assert [player.id for player in solo.players] == ["x"]
        assert [player.id for player in trio.players] == ["y.0", "y.1", "y.2"]

    def test_ids_are_joined_by_a_bar_and_stay_text(self, tmp_path: Path) -> None:
        (party,) = tickets(tmp_path, "at,size,player\n0,2,007 | nan\n")
        assert [player.id for player in party.players] == ["007", "nan"]
        assert party.id == "0"

    def test_ratings_are_of_the_party_or_of_each_player(self, tmp_path: Path) -> None:
        text = "at,player,rating,rating_deviation\n0,a|b,1500|1600,80\n1,c,1700,\n2,d,,\n"
        party, solo, unknown = tickets(tmp_path, text)
        assert [p.rating for p in party.players] == [Rating(1500.0, 80.0), Rating(1600.0, 80.0)]
        assert solo.players[0].rating == Rating(1700.0, 350.0)
        assert unknown.players[0].rating is None

    def test_roles_are_in_order_of_preference(self, tmp_path: Path) -> None:
        (party,) = tickets(tmp_path, "at,player,roles\n0,a|b,tank+dps|healer\n")
        assert [player.roles for player in party.players] == [("tank", "dps"), ("healer",)]


class TestAttributes:
    def test_are_numbers_where_the_whole_cell_is_one(self, tmp_path: Path) -> None:
        (ticket,) = tickets(tmp_path, "at,a,b,c,d,e\n0, 1e3 ,1_000,12a,,-.5\n")
        assert ticket.attributes == {"a": 1000.0, "b": "1_000", "c": "12a", "e": -0.5}

    def test_are_text_where_a_queue_compares_text(self, tmp_path: Path) -> None:
        queue = Queue(
            rules=(
                Rule("avoid", "avoid"),
                Rule("host_options", "connect"),
                Rule("household_limit", "household"),
                Rule("overlap", "maps"),
                Rule("same", "version"),
                Rule("spread", "level"),
            )
        )
        names = "at,avoid,connect,household,maps,version,level"
        text = f"{names}\n0,007,1e3,7.0,nan,1.10,3\n1,7.0,b+a,h+g,2+1,7.0,4\n"
        one, two = tickets(tmp_path, text, queues=(queue,))
        facts = {"avoid": "007", "connect": "1e3", "household": "7", "maps": "nan"}
        assert one.attributes == {**facts, "version": "1.10", "level": 3.0}
        sets = {"connect": ("a", "b"), "household": ("g", "h"), "maps": ("1", "2"), "version": "7"}
        assert two.attributes == {"avoid": "7", **sets, "level": 4.0}

    def test_of_rule_sets_are_text_where_these_declare_it(self, tmp_path: Path) -> None:
        tests = [
            AttributeTest(attribute="build", kind="string"),
            AttributeTest(attribute="maps", kind="string_list"),
            AttributeTest(attribute="level", kind="number"),
        ]
        rule = Rule("condition", condition=Condition("all", AllOf(tuple(tests))))
        text = "at,player,build,maps,level\n0,a|b,1.10|c++,1|2+3,7\n"
        (party,) = tickets(tmp_path, text, queues=(Queue(format=Format((2, 2)), rules=(rule,)),))
        assert party.attributes == {"level": 7.0}
        assert [player.attributes for player in party.players] == [
            {"build": "1.10", "maps": "1"},
            {"build": "c++", "maps": ("2", "3")},
        ]

    def test_that_one_queue_compares_as_a_number_are_read_as_without_queues(
        self, tmp_path: Path
    ) -> None:
        words = Queue("a", rules=(Rule("overlap", "x"),))
        level = Queue("b", rules=(Rule("spread", "x"),))
        (ticket,) = tickets(tmp_path, "at,x\n0,1.0\n", queues=(words, level))
        assert ticket.attributes == {"x": 1.0}

    def test_id_that_looks_like_a_number_is_avoided(self, tmp_path: Path) -> None:
        queue = Queue(rules=(Rule("avoid", "avoid"),), wait_max=20.0)
        for name in ("007", "1e3", "76561198000000001"):
            (tmp_path / "a.csv").write_text(f"at,player,avoid\n0,{name},\n1,x,{name}\n")
            scenario = Scenario((queue,), Arrivals(process="file", file=str(tmp_path / "a.csv")))
            assert simulate(scenario).matches == []

    def test_plus_makes_a_sorted_set_and_a_bar_one_value_each(self, tmp_path: Path) -> None:
        (party,) = tickets(tmp_path, "at,player,maps,level\n0,a|b|c,sea+air+sea,3||x+y\n")
        assert party.attributes == {"maps": ("air", "sea")}
        assert [p.attributes for p in party.players] == [
            {"level": 3.0},
            {},
            {"level": ("x", "y")},
        ]

    def test_dots_make_maps(self, tmp_path: Path) -> None:
        text = "at,player,latency.eu,latency.us.west\n0,a|b,30|40,90\n1,c,,70\n"
        party, solo = tickets(tmp_path, text)
        assert party.attributes == {"latency": {"us.west": 90.0}}
        assert party.players[1].attributes == {"latency": {"eu": 40.0}}
        assert solo.attributes == {"latency": {"us.west": 70.0}}

    def test_queues_and_side_belong_to_the_ticket(self, tmp_path: Path) -> None:
        both, flexible = tickets(tmp_path, "at,queues,side\n0,expert+junior,1\n0,,\n")
        assert (both.queues, both.attributes) == (("expert", "junior"), {"side": "1"})
        assert (flexible.queues, flexible.attributes) == ((), {})

    def test_that_the_file_lacks_are_drawn(self, tmp_path: Path) -> None:
        seven = Choice(values=(7.0,))
        text = "at,c0\n0,1\n1,\n"
        found = tickets(tmp_path, text, attributes={"c0": seven, "c1": seven})
        assert [ticket.attributes for ticket in found] == [{"c0": 1.0}, {}]
        assert [ticket.players[0].attributes for ticket in found] == [{"c1": 7.0}] * 2


class TestColumns:
    def test_map_our_names_to_theirs(self, tmp_path: Path) -> None:
        text = "t,who,mu,sigma,extra\n5,a,25,8,1\n"
        columns = {
            "at": "t",
            "player": "who",
            "rating": "mu",
            "rating_deviation": "sigma",
            "c0": "mu",
        }
        (ticket,) = tickets(tmp_path, text, columns=columns)
        assert ticket == NewTicket(
            players=(Player("a", Rating(25.0, 8.0)),), attributes={"c0": 25.0, "extra": 1.0}, id="0"
        )

    def test_of_theirs_that_bear_a_mapped_name_are_left_out(self, tmp_path: Path) -> None:
        (ticket,) = tickets(tmp_path, "at,t\nnoon,5\n", columns={"at": "t"})
        assert ticket.attributes == {}


BAD_ROWS = [
    ("", "a.csv: is empty; the first line must name the columns"),
    ("time\n1\n", "a.csv: has no column at; columns are time; if another one holds it, add at ="),
    ("att\n1\n", "has no column at; did you mean att? columns are att"),
    ("at,\n1,\n", "a.csv, line 1: column 2 must have a name of 1 to 200 characters"),
    ("at,x,x\n1,2,3\n", "a.csv, line 1: column x is named twice"),
    ("at,x.\n1,2\n", "must have a name and a key around the dot of column x."),
    ("at,x,x.y\n1,2,3\n", "a.csv, column x.y: is a key of x, which is another column"),
    ("at,rating_deviation\n1,2\n", "so it must have a column rating"),
    ("at\nsoon\n", "a.csv, line 2, column at: must be a time: a number of seconds, or a date"),
    ("at\n\n0\n\n\nsoon\n", "a.csv, line 6, column at"),
    ("at\nnan\n", "line 2, column at: must be a finite number, or empty for none, got nan"),
    ("at\n0\ninf\n", "line 3, column at: must be a finite number"),
    ("at,x\n0,1\n,2\n", "line 3, column at: must be a time: a number of seconds, or a"),
    ("at\n1e30\n", "column at: must be at most 1e+12 seconds, got 1e30"),
    ("at\n5\n2026-01-01\n", "line 3, column at: must be a number of seconds, as the first time"),
    ("at\n5\n1700000000000\n", "line 3, column at: must be a number of seconds, as the first"),
    (
        "at\n2026-01-01T00:00Z\n2026-01-01T00:00\n",
        "line 3, column at: must be a date and time with",
    ),
    ("at,leaves_at\n5,4\n", "column leaves_at: must not be before at = 5.0, got 4.0"),
    ("at,leaves_at\n5,later\n", "column leaves_at: must be a time: a number of seconds"),
    ("at,x\n5\n", "line 2: must have 2 cells like the header, got 1"),
    ("at\n5,6\n", "line 2: must have 1 cells like the header, got 2"),
    ("at,size\n0,2.5\n", "column size: must be a whole number between 1 and 1,000, got 2.5"),
    ("at,size\n0,0\n", "column size: must be a whole number between 1 and 1,000, got 0"),
    ("at,size,player\n0,3,a|b\n", "column size: must be 2, the number of players, got 3"),
    ("at,player\n0,a|\n", "column player: must hold ids of 1 to 200 characters, got an empty"),
    ("at,player\n0,\n", "line 2, column player: must hold ids"),
    ("at,player\n0,a|a\n", "column player: must name different players, got a|a"),
    (f"at,player\n0,{'x' * 201}\n", "must hold ids of 1 to 200 characters, got 201"),
    ("ticket,at\nx,0\nx,1\n", 'line 3, column ticket: must be different in every row, got "x"'),
    ("at,rating\n0,high\n", 'column rating: must be a number, got "high"'),
    ("at,rating,rating_deviation\n0,5,-1\n", "column rating_deviation: must be a number >= 0"),
    ("at,player,c0\n0,a|b|c,1|2\n", "column c0: must have one value for the party or 3, one for"),
    ("at,c0\n0,nan\n", "line 2, column c0: must be a finite number, or empty for none, got nan"),
    ("at,c0\n0,a++b\n", 'column c0: must be a set of words joined by "+", none of them empty'),
    ("at,latency.eu\n0,fast\n", 'column latency.eu: must be a number, got "fast"'),
    ("at,queues\n0,a++b\n", 'column queues: must be different names joined by "+", got a++b'),
    ("at,queues\n0,a+a\n", "column queues: must be different names"),
    ('at,x\n0,"a\n', "a.csv, line 2: must be valid CSV: unexpected end of data"),
    (f"at,x\n0,{'y' * 10_001}\n", "line 2, column x: must have at most 10,000 characters"),
    (b"at,x\n0,\xff\n", "a.csv: must be UTF-8 text"),
    (gzip.compress(b"at\n0\n", mtime=0), "a.csv: must be UTF-8 text"),
]


@pytest.mark.parametrize(("text", "fragment"), BAD_ROWS, ids=lambda text: str(text)[:40])
def test_bad_file_is_refused_with_file_line_and_column(
    tmp_path: Path, text: str | bytes, fragment: str
) -> None:
    assert fragment in refusal(tmp_path, text)


def test_missing_columns_of_the_mapping_are_refused(tmp_path: Path) -> None:
    sentence = refusal(tmp_path, "time,who\n0,a\n", columns={"at": "tim"})
    assert sentence == "a.csv: has no column tim; did you mean time? columns are time, who"


def test_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "LINE_MAX", 100)
    assert "line 2: must have at most 100 char" in refusal(tmp_path, "at\n" + "1" * 200)


class TestQueues:
    QUEUES = (
        Queue(name="a", format=Format((1, 1), ("north", "south"))),
        Queue(name="b", format=Format((2, 2))),
    )

    def test_rows_that_fit_pass(self, tmp_path: Path) -> None:
        text = "at,queues,size,side\n0,,1,north\n0,b,2,\n0,a+b,1,south\n"
        assert len(tickets(tmp_path, text, queues=self.QUEUES)) == 3

    @pytest.mark.parametrize(
        ("row", "fragment"),
        [
            ("0,c,1,", 'line 2, column queues: must name queues among a, b, got "c"'),
            ("0,a+b,2,", 'line 2, column size: queue "a" does not admit a party of 2'),
            ("0,,2,", 'line 2, column size: queue "a" does not admit a party of 2'),
            (
                "0,a,1,up",
                'column side: side must be one of north, south, or empty, in queue "a", got "up"',
            ),
        ],
    )
    def test_rows_that_do_not_fit_are_refused(
        self, tmp_path: Path, row: str, fragment: str
    ) -> None:
        text = f"at,queues,size,side\n{row}\n"
        assert fragment in refusal(tmp_path, text, queues=self.QUEUES)

    def test_party_that_no_column_sizes_is_refused_at_its_players(self, tmp_path: Path) -> None:
        sentence = refusal(
            tmp_path, "at,who\n0,x|y\n", queues=self.QUEUES, columns={"player": "who"}
        )
        assert sentence == 'a.csv, line 2, column who: queue "a" does not admit a party of 2'


class TestRefusalsOfTheEngine:
    """What only the engine can refuse is told with the file, the line and the column too."""

    RATED = Queue(rules=(Rule("spread", "rating", 100.0),))
    SKILLED = Queue(rules=(Rule("spread", "skill", 100.0),))

    def refusal(self, folder: Path, queue: Queue, text: str, **columns: str) -> str:
        (folder / "a.csv").write_text(text)
        arrivals = Arrivals(process="file", file=str(folder / "a.csv"), columns=columns)
        with pytest.raises(ArrivalsError) as caught:
            simulate(Scenario((queue,), arrivals))
        return str(caught.value).removeprefix(f"{folder}/")

    @pytest.mark.parametrize(
        ("queue", "text", "columns", "sentence"),
        [
            (
                RATED,
                "at,mu\n0,1\n1,\n",
                {"rating": "mu"},
                "a.csv, line 3, column mu: queue main: attribute rating is missing",
            ),
            (
                RATED,
                "at,player,elo\n0,a,1500\n",
                {},
                (
                    "a.csv, line 2: queue main: attribute rating is missing; the file has no "
                    'column rating: if another one holds it, add rating = "ITS NAME" to '
                    '[arrivals.columns], or give --columns rating="ITS NAME"; columns are at, '
                    "player, elo"
                ),
            ),
            (
                SKILLED,
                "at,skill\n0,5\n\n1,high\n",
                {},
                (
                    "a.csv, line 4, column skill: queue main: attribute skill must be a number, "
                    'got "high"'
                ),
            ),
            (
                Queue(),
                "at,skill\n0,1e300\n",
                {},
                (
                    "a.csv, line 2, column skill: a number must be finite and from -1e+15 to "
                    "1e+15, got 1e+300"
                ),
            ),
            (
                Queue(),
                "at,mu\n0,-1e16\n",
                {"rating": "mu"},
                (
                    "a.csv, line 2, column mu: a number must be finite and from -1e+15 to "
                    "1e+15, got -1e+16"
                ),
            ),
            (
                Queue(),
                "at,rating,rating_deviation\n0,1,1e16\n",
                {},
                (
                    "a.csv, line 2, column rating_deviation: a number must be finite and from 0 to "
                    "1e+15, got 1e+16"
                ),
            ),
            (
                Queue(),
                "at,latency.eu,latency.us\n0,1,1e16\n",
                {},
                (
                    "a.csv, line 2, column latency.eu or latency.us: a number must be finite and "
                    "from -1e+15 to 1e+15, got 1e+16"
                ),
            ),
        ],
    )
    def test_names_file_line_and_column(
        self, tmp_path: Path, queue: Queue, text: str, columns: dict[str, str], sentence: str
    ) -> None:
        # Who has other bad rows too is told their number after this sentence.
        assert (
            self.refusal(tmp_path, queue, text, **columns).partition("; the other")[0] == sentence
        )

    def test_file_with_a_header_only_is_a_run_without_tickets(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_text("at,rating\n")
        found = simulate(Scenario((self.RATED,)), arrivals=tmp_path / "a.csv")
        assert (found.summary["tickets"], found.summary["matches"]) == (0, 0)


class TestFiles:
    def test_packed_csv_is_read(self, tmp_path: Path) -> None:
        found = stream(tmp_path, gzip.compress(b"at\n3\n", mtime=0), "a.CSV.gz")
        assert [each.at for each in found] == [0.0]

    def test_byte_order_mark_and_windows_lines_are_no_problem(self, tmp_path: Path) -> None:
        found = stream(tmp_path, b"\xef\xbb\xbfat,x\r\n3,1\r\n")
        assert [each.ticket.attributes for each in found] == [{"x": 1.0}]

    @pytest.mark.parametrize(
        ("name", "data", "fragment"),
        [
            ("a.csv.gz", b"at\n0\n", "a.csv.gz: must be a gzip file, and it is not"),
            (
                "a.csv.gz",
                gzip.compress(b"at\n" + b"1\n" * 500, mtime=0)[:-9],
                "must be a whole gzip file",
            ),
            (
                "a.csv.gz",
                gzip.compress(b"at\n", mtime=0)[:12],
                "gzip file; it breaks near its start",
            ),
            ("a.csv", b"\xff\xfe\x00", "a.csv: must be UTF-8 text, and its first line is not"),
            ("a.csv", b"at\r\n1\r\n\xff\r\n", "must be UTF-8 text, and line 3 is not"),
            ("a.csv", b"\xef\xbb\xbfat\n" + b"1\n" * 20_000 + b"1\xff\n", "and line 20,002 is not"),
            ("a.xlsx", b"", "must be a file that ends in .csv, .tsv, .csv.gz, .tsv.gz or .parquet"),
            ("a.parquet", b"at\n0\n", "a.parquet: cannot be read as Parquet"),
        ],
    )
    def test_that_are_not_what_they_say_are_refused(
        self, tmp_path: Path, name: str, data: bytes, fragment: str
    ) -> None:
        assert fragment in refusal(tmp_path, data, name)

    @pytest.mark.parametrize("name", ["none.csv", "none.csv.gz", "none.parquet"])
    def test_that_are_missing_are_refused(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(ArrivalsError, match=f"{name}: cannot be read"):
            opened(tmp_path, name)

    @pytest.mark.parametrize("name", ["halo3.csv.gz", "../errors.py", "", "__init__.py/x"])
    def test_that_do_not_ship_are_refused_with_those_that_do(
        self, tmp_path: Path, name: str
    ) -> None:
        with pytest.raises(ArrivalsError, match=r"there are halo2_1v1_queue_trace\.csv\.gz"):
            opened(tmp_path, f"evenmatch:{name}")

    def test_recording_without_a_file_is_refused(self) -> None:
        with pytest.raises(ArrivalsError, match=r"arrivals\.file is missing"):
            arrivals_of(Arrivals(process="file"), np.random.SeedSequence(1))


class TestParquet:
    def test_cells_mean_the_same_as_in_csv(self, tmp_path: Path) -> None:
        pa = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        columns = {
            "at": [10.5, 11.0],
            "player": ["a|b", "c"],
            "rating": [1500, None],
            "maps": ["sea+air", None],
        }
        parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
        found = opened(tmp_path, "a.parquet")
        assert found.offset == 10.0
        party, solo = (each.ticket for each in found)
        assert party.attributes == {"maps": ("air", "sea")}
        assert [player.rating for player in party.players] == [Rating(1500.0)] * 2
        assert solo == NewTicket((Player("c"),), id="1")

    def test_rows_are_named_in_errors(self, tmp_path: Path) -> None:
        pa = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pa.table({"at": [1.0, None]}), tmp_path / "a.parquet")
        with pytest.raises(ArrivalsError, match=r"a\.parquet, row 2, column at: must be a time"):
            list(opened(tmp_path, "a.parquet"))
        parquet.write_table(pa.table({"at": [1], "ok": [True]}), tmp_path / "b.parquet")
        with pytest.raises(
            ArrivalsError, match="row 1, column ok: must be a number, a time or text, got"
        ):
            list(opened(tmp_path, "b.parquet"))

    def test_without_pyarrow_says_what_to_install(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
        with pytest.raises(ArrivalsError, match=r'pip install "evenmatch\[parquet\]"'):
            opened(tmp_path, "a.parquet")


class TestHaloTrace:
    def test_is_read_as_its_notice_says(self) -> None:
        scenario = load_scenario(SCENARIOS / "halo.toml")
        assert scenario.arrivals is not None
        seeds = np.random.SeedSequence(scenario.seed)
        found = arrivals_of(scenario.arrivals, seeds, queues=scenario.queues)
        rows = list(found)
        assert found.offset == 1091815658.0
        assert len(rows) == 9690
        assert rows[0].at == 0.0
        assert rows[0].ticket.players == (Player("0", Rating(25.0, 8.333)),)
        assert set(rows[0].ticket.attributes) <= set(scenario.queues[0].attributes)

"""Parties of the world: shares by hour, friends, pings, networks, and their streams of chance.

Statistical checks use fixed seeds and allow four standard errors.
"""

import math
from collections import Counter
from pathlib import Path

import msgspec
import numpy as np
import pytest

from evenmatch.criteria.roles import role_problem
from evenmatch.errors import ArrivalsError
from evenmatch.model.scenario import Arrivals, Choice, Uniform
from evenmatch.model.ticket import Player
from evenmatch.model.world import Connect, LastMile, RoleMix, Skill, World
from evenmatch.simulation.arrivals.arrivals import arrivals_of
from evenmatch.simulation.arrivals.stream import Arrival
from evenmatch.simulation.world.model import shipped_model
from evenmatch.simulation.world.parties import Geography, WorldDraws
from tests import made_world

NAMES = shipped_model().names
THREES = (0.6, 0.25, 0.15)


def made(world: World, count: int = 4000, seed: int = 1, **more: object) -> list[Arrival]:
    arrivals = Arrivals(process="world", world=world, count=count, **more)  # type: ignore[arg-type]
    return list(arrivals_of(arrivals, np.random.SeedSequence(seed)))


def players_of(arrivals: list[Arrival]) -> list[Player]:
    return [player for each in arrivals for player in each.ticket.players]


def values(arrivals: list[Arrival], name: str) -> list[object]:
    return [player.attributes[name] for player in players_of(arrivals)]


def assert_share(found: int, count: int, share: float) -> None:
    """Assert that a count is within four standard errors of a share."""
    assert abs(found / count - share) < 4.0 * math.sqrt(share * (1.0 - share) / count)


def test_players_come_at_the_given_rate_in_parties_of_the_given_shares() -> None:
    comers = made(World(2.0, follows="neither", party_shares=THREES), count=20_000)
    sizes = Counter(len(each.ticket.players) for each in comers)
    players = sum(size * count for size, count in sizes.items())
    # Times are exponential: 20,000 gaps have a relative standard error of 0.7 %.
    assert players / comers[-1].at == pytest.approx(2.0, rel=0.04)
    tickets = 0.6 + 0.25 / 2 + 0.15 / 3
    for size, share in enumerate(THREES, start=1):
        assert_share(sizes[size], len(comers), share / size / tickets)


def test_each_player_has_what_criteria_ask_for() -> None:
    for player in players_of(made(World(1.0, party_shares=THREES), count=50)):
        facts = player.attributes
        assert set(facts) == {"region", "latency", "rating", "connect"}
        assert facts["region"] in NAMES
        assert facts["connect"] in ("open", "moderate", "strict")
        assert isinstance(facts["latency"], dict)
        assert tuple(facts["latency"]) == NAMES
        assert all(0.0 < ms < 5000.0 for ms in facts["latency"].values())
        assert isinstance(facts["rating"], float)


@pytest.mark.parametrize("hour", [3.5, 19.0])
def test_regions_have_the_shares_of_the_hour(hour: float) -> None:
    comers = made(World(1.0, hour=hour, follows="neither"), count=20_000)
    found = Counter(values(comers, "region"))
    players = shipped_model().players_by_hour()[int(hour)]
    for name, share in zip(NAMES, players / players.sum(), strict=True):
        assert_share(found[name], len(comers), float(share))


def test_evening_of_europe_is_the_night_of_oceania() -> None:
    europe = Counter(values(made(World(1.0, hour=19.0, follows="neither")), "region"))
    night = Counter(values(made(World(1.0, hour=8.0, follows="neither")), "region"))
    assert europe["europe_west"] > 0.45 * 4000
    assert europe["oceania"] < 0.02 * 4000
    assert night["oceania"] > 0.08 * 4000


def test_rate_follows_the_hours_of_the_day_where_it_should() -> None:
    day = Geography(World(1.0)).day
    assert sum(day) == pytest.approx(24.0)
    busy, calm = max(range(24), key=day.__getitem__), min(range(24), key=day.__getitem__)
    for hour in (busy, calm):
        world = World(5.0, hour=float(hour))
        comers = len(made(world, count=1_000_000, duration=3600.0))
        mean = 5.0 * 3600.0 * day[hour]
        assert abs(comers - mean) < 4.0 * math.sqrt(mean)
        alone = len(made(msgspec.structs.replace(world, follows="shares"), 10**6, duration=3600.0))
        assert abs(alone - 18_000.0) < 4.0 * math.sqrt(18_000.0)


def test_instants_across_midnight_go_on_without_a_gap() -> None:
    at = [each.at for each in made(World(1.0, hour=23.5), count=20_000)]
    assert at == sorted(at)
    assert at[0] > 0.0
    # The rate is never below a third of its mean, so no gap of 60 s is to be expected.
    assert max(np.diff(at)) < 60.0


@pytest.mark.parametrize("home_share", [0.0, 0.5, 1.0])
def test_friends_are_of_one_region_as_often_as_said(home_share: float) -> None:
    world = World(1.0, hour=19.0, follows="neither", party_shares=(0.0, 1.0), home_share=home_share)
    pairs = [each.ticket.players for each in made(world, count=8000)]
    together = sum(a.attributes["region"] == b.attributes["region"] for a, b in pairs)
    players = shipped_model().players_by_hour()[19]
    same = float(((players / players.sum()) ** 2).sum())
    chance = home_share**2 + (1.0 - home_share**2) * same
    if home_share == 1.0:
        assert together == len(pairs)
    else:
        assert_share(together, len(pairs), chance)


def test_networks_have_their_shares() -> None:
    found = Counter(values(made(World(1.0, connect=Connect(0.2, 0.3, 0.5)), 10_000), "connect"))
    for word, share in (("open", 0.2), ("moderate", 0.3), ("strict", 0.5)):
        assert_share(found[word], 10_000, share)
    assert set(values(made(World(1.0, connect=Connect(0.0, 0.0, 1.0)), 100), "connect")) == {
        "strict"
    }


def test_skill_is_lognormal_with_beginners_below() -> None:
    points = values(made(World(1.0, skill=Skill(beginners=0.0)), 20_000), "rating")
    logs = np.log(np.asarray(points, dtype=np.float64) / 8000.0)
    assert abs(logs.mean()) < 4.0 * 0.301 / math.sqrt(20_000)
    assert logs.std() == pytest.approx(0.301, rel=4.0 / math.sqrt(2.0 * 20_000))
    beginners = values(made(World(1.0, skill=Skill(beginners=1.0)), 5000), "rating")
    assert max(beginners) < 6000.0  # type: ignore[type-var]


def test_friends_are_alike_and_strangers_are_not() -> None:
    world = World(1.0, party_shares=(0.0, 1.0), skill=Skill(beginners=0.0, friends=0.1))
    pairs = [
        [float(player.attributes["rating"]) for player in each.ticket.players]  # type: ignore[arg-type]
        for each in made(world, count=5000)
    ]
    logs = np.log(np.asarray(pairs))
    friends = (logs[:, 0] - logs[:, 1]).std()
    strangers = (logs[1:, 0] - logs[:-1, 1]).std()
    assert friends == pytest.approx(0.1 * math.sqrt(2.0), rel=0.05)
    # Parties vary as much as players who come alone.
    assert strangers == pytest.approx(0.301 * math.sqrt(2.0), rel=0.05)


def test_few_players_are_above_eighteen_thousand_as_in_the_blog() -> None:
    # Three in a thousand, alone and in parties; drawn by parties of two on average at most.
    world = World(1.0, hour=19.0, party_shares=(0.5, 0.3, 0.2))
    draws = WorldDraws(world, Geography(world), np.random.SeedSequence(3))
    found = draws.crowd(np.full(200_000, 19.0))
    sizes = np.repeat(found.sizes, found.sizes)
    for chosen in (sizes == 1, sizes > 1, sizes > 0):
        ratings = found.rating[chosen]
        error = math.sqrt(2.0 * 0.003 / len(ratings))
        assert float((ratings > 18_000.0).mean()) == pytest.approx(0.003, abs=3.0 * error)


def test_players_are_nearest_to_the_servers_of_their_region() -> None:
    latencies: dict[str, list[list[float]]] = {}
    for player in players_of(made(World(1.0, hour=12.0), count=20_000)):
        region, latency = player.attributes["region"], player.attributes["latency"]
        assert isinstance(latency, dict)
        latencies.setdefault(str(region), []).append(list(latency.values()))
    for name, rows in latencies.items():
        if len(rows) > 100:
            # The two halves of Europe are so near that their detours decide.
            nearest = NAMES[int(np.argmin(np.median(np.asarray(rows), axis=0)))]
            assert nearest == name


def test_last_mile_adds_to_every_round_trip() -> None:
    near = made(World(1.0, last_mile=LastMile(0.0, 0.0)), count=500)
    far = made(World(1.0, last_mile=LastMile(30.0, 0.0)), count=500)
    for one, other in zip(players_of(near), players_of(far), strict=True):
        for key, ms in one.attributes["latency"].items():  # type: ignore[union-attr]
            # Both are rounded to a tenth.
            assert other.attributes["latency"][key] - ms == pytest.approx(30.0, abs=0.11)  # type: ignore[index, call-overload]


def test_only_the_nearest_regions_are_told_where_few_were_measured() -> None:
    everything, few = made(World(1.0), count=300), made(World(1.0, latencies=3), count=300)
    for one, other in zip(players_of(everything), players_of(few), strict=True):
        latency, told = one.attributes["latency"], other.attributes["latency"]
        assert isinstance(latency, dict)
        assert isinstance(told, dict)
        assert sorted(told.values()) == sorted(latency.values())[:3]
        assert all(latency[key] == ms for key, ms in told.items())


HERO = (("tank", 1), ("damage", 2), ("support", 2))
LIKED = RoleMix(
    (("damage",), ("support",), ("tank",), ("tank", "damage"), ()),
    (0.45, 0.25, 0.15, 0.10, 0.05),
    HERO,
)
FIVES = (0.55, 0.22, 0.12, 0.04, 0.07)


def test_players_list_roles_by_their_shares() -> None:
    alone = [each.roles for each in players_of(made(World(1.0, roles=LIKED), 20_000))]
    assert set(alone) == set(LIKED.lists)
    for names, share in zip(LIKED.lists, LIKED.shares, strict=True):
        assert_share(alone.count(names), len(alone), share)


def test_second_member_draws_among_the_lists_that_go_with_the_first() -> None:
    comers = made(World(1.0, party_shares=(0.0, 1.0), roles=LIKED), 20_000)
    pairs = [[player.roles for player in each.ticket.players] for each in comers]
    firsts = [first for first, _ in pairs]
    for names, share in zip(LIKED.lists, LIKED.shares, strict=True):
        assert_share(firsts.count(names), len(firsts), share)
    # Beside a tank there is no second one, but all else as it was.
    beside_tank = [second for first, second in pairs if first == ("tank",)]
    assert ("tank",) not in beside_tank
    assert_share(beside_tank.count(("damage",)), len(beside_tank), 0.45 / 0.85)


def test_roles_of_every_party_go_together_in_one_team() -> None:
    comers = made(World(1.0, party_shares=FIVES, roles=LIKED), 5000)
    assert {len(each.ticket.players) for each in comers} == {1, 2, 3, 4, 5}
    assert [
        role_problem(each.ticket, HERO) for each in comers if role_problem(each.ticket, HERO)
    ] == []


def test_party_finds_roles_even_if_hardly_anybody_lists_the_last() -> None:
    rare = RoleMix((("damage",), ("support",), ("tank",)), (1.0 - 2e-9, 1e-9, 1e-9), HERO)
    comers = made(World(1.0, party_shares=(0.0, 0.0, 0.0, 0.0, 1.0), roles=rare), 200)
    assert all(role_problem(each.ticket, HERO) is None for each in comers)
    assert all(len(each.ticket.players) == 5 for each in comers)


def test_roles_have_a_stream_of_their_own() -> None:
    world = World(1.0, party_shares=FIVES)
    base = made(world, count=300)
    cast = made(msgspec.structs.replace(world, roles=LIKED), count=300)
    bare = [
        tuple(msgspec.structs.replace(player, roles=()) for player in each.ticket.players)
        for each in cast
    ]
    assert bare == [each.ticket.players for each in base]
    assert [each.at for each in cast] == [each.at for each in base]
    longer = made(msgspec.structs.replace(world, roles=LIKED), count=9000)
    assert longer[:300] == cast


def test_drawn_attributes_keep_the_roles() -> None:
    moods = {"mood": Choice(values=("good",))}
    with_moods = players_of(made(World(1.0, roles=LIKED), 200, attributes=moods))
    assert [each.roles for each in with_moods] == [
        each.roles for each in players_of(made(World(1.0, roles=LIKED), 200))
    ]


def test_streams_do_not_disturb_each_other() -> None:
    base = made(World(1.0, party_shares=THREES), count=300)
    changed = made(World(1.0, party_shares=THREES, connect=Connect(1.0, 0.0, 0.0)), count=300)
    for name in ("region", "latency", "rating"):
        assert values(base, name) == values(changed, name)
    assert [each.at for each in base] == [each.at for each in changed]
    longer = made(World(1.0, party_shares=THREES), count=9000)
    assert longer[:300] == base
    assert made(World(1.0, party_shares=THREES), count=300, seed=2) != base


def test_drawn_attributes_and_patience_go_beside_those_of_the_world() -> None:
    comers = made(
        World(1.0, party_shares=THREES),
        count=200,
        attributes={
            "rating": Uniform(min=1.0, max=2.0),
            "side": Choice(values=("A",)),
            "mood": Choice(values=("good",)),
        },
        patience=Choice(values=(5.0,)),
    )
    assert all(1.0 <= rating <= 2.0 for rating in values(comers, "rating"))  # type: ignore[operator]
    assert set(values(comers, "mood")) == {"good"}
    assert all(each.ticket.attributes == {"side": "A"} for each in comers)
    assert all(each.leaves_at == each.at + 5.0 for each in comers)
    bare = made(World(1.0, party_shares=THREES), count=200)
    assert values(comers, "latency") == values(bare, "latency")


class TestMeasuredFiles:
    """Files of the user's own go before what was fitted."""

    def folder(self, tmp_path: Path) -> World:
        (tmp_path / "hours.csv").write_text(
            "region,hour_utc,matches\n"
            + "".join(f"JAPAN,{h},3\noceania,{h},1\n" for h in range(24))
        )
        (tmp_path / "cities.csv").write_text(
            "city,lat,lon\nTokyo,35.7,139.7\nSydney,-33.9,151.2\nLondon,51.5,-0.1\n"
        )
        (tmp_path / "pings.csv").write_text(
            "from_city,to_city,rtt_avg_ms\nTokyo,Sydney,100\nSydney,Tokyo,111\nTokyo,London,222\n"
        )
        return World(
            1.0,
            last_mile=LastMile(0.0, 0.0),
            hours_file=str(tmp_path / "hours.csv"),
            cities_file=str(tmp_path / "cities.csv"),
            pings_file=str(tmp_path / "pings.csv"),
        )

    def test_shares_are_those_of_the_file(self, tmp_path: Path) -> None:
        found = Counter(values(made(self.folder(tmp_path)), "region"))
        assert set(found) == {"japan", "oceania"}
        assert_share(found["japan"], 4000, 0.75)

    def test_pings_are_those_between_the_nearest_cities(self, tmp_path: Path) -> None:
        comers = made(self.folder(tmp_path), count=400)
        for player in players_of(comers):
            latency = player.attributes["latency"]
            assert isinstance(latency, dict)
            if player.attributes["region"] == "japan":
                # All of Europe's servers are nearest to London, whence nothing was measured to us.
                assert latency["oceania"] == 100.0
                assert latency["europe_west"] == 222.0
                assert 0.0 < latency["japan"] < 100.0
            else:
                assert latency["japan"] == 111.0

    @pytest.mark.parametrize(
        ("file", "text", "sentence"),
        [
            ("hours", "region,hour_utc\nJAPAN,1\n", "has no column matches"),
            ("hours", "region,hour_utc,matches\nMARS,1,1\n", "region MARS is not known"),
            ("hours", "region,hour_utc,matches\nJAPAN,1,1\n", "hour_utc 0 has no match"),
            ("hours", "region,hour_utc,matches\nJAPAN,24,1\n", "between 0 and 23, got 24"),
            ("hours", "region,hour_utc,matches\nJAPAN,1.5,1\n", "must be a whole hour, got 1.5"),
            ("hours", "region,hour_utc,matches\nJAPAN,1,nan\n", "must be a finite number"),
            ("hours", "region,hour_utc,matches\nJAPAN,1,0\n", "has no match in it"),
            ("cities", "city,lat,lon\nA,91,0\n", "between -90 and 90, got 91"),
            ("cities", "city,lat,lon\nA,1,0\nA,2,0\n", "A is there twice"),
            ("cities", "city,lat,lon\n", "has no city in it"),
            ("pings", "from_city,to_city,rtt_avg_ms\nA,B,-1\n", "between 0 and 60000, got -1"),
            ("pings", "from_city,to_city,rtt_avg_ms\nA,B,1\n", "has no ping between the cities"),
        ],
    )
    def test_file_that_cannot_be_used_is_refused_in_a_sentence(
        self, tmp_path: Path, file: str, text: str, sentence: str
    ) -> None:
        world = self.folder(tmp_path)
        (tmp_path / f"{file}.csv").write_text(text)
        with pytest.raises(ArrivalsError) as refused:
            made(world)
        assert sentence in str(refused.value)
        assert f"{file}.csv" in str(refused.value)

    def test_city_whose_pings_are_faster_than_light_is_left_out(self, tmp_path: Path) -> None:
        world = self.folder(tmp_path)
        # The pings of this Osaka are those of a city in Europe.
        (tmp_path / "cities.csv").write_text(
            "city,lat,lon\nTokyo,35.7,139.7\nOsaka,34.7,135.5\nSydney,-33.9,151.2\n"
            + "".join(f"E{i},{48 + i},2\n" for i in range(5))
        )
        (tmp_path / "pings.csv").write_text(
            "from_city,to_city,rtt_avg_ms\nTokyo,Sydney,100\nOsaka,Sydney,300\nOsaka,Tokyo,240\n"
            + "".join(f"Osaka,E{i},5\nTokyo,E{i},230\n" for i in range(5))
            + "".join(f"E{i},E{j},4\n" for i in range(5) for j in range(i))
        )
        latencies = {
            player.attributes["latency"]["oceania"]  # type: ignore[index, call-overload]
            for player in players_of(made(world, count=400))
            if player.attributes["region"] == "japan"
        }
        assert 300.0 not in latencies

    def test_files_drawn_from_the_fitted_world_give_one_much_like_it(self, tmp_path: Path) -> None:
        world = World(1.0, hour=19.0, follows="neither")
        hours, cities, pings = made_world.write(tmp_path)
        measured = msgspec.structs.replace(
            world, hours_file=hours, cities_file=cities, pings_file=pings
        )
        fitted, real = made(world, 10_000), made(measured, 10_000)
        one, other = (Counter(values(each, "region")) for each in (fitted, real))
        # The hour's matches move a share by 2 points at the most, and 2 are four standard errors.
        assert all(abs(one[name] - other[name]) < 0.04 * 10_000 for name in NAMES)
        home = [
            np.median([
                player.attributes["latency"][player.attributes["region"]]  # type: ignore[index, call-overload]
                for player in players_of(each)
            ])
            for each in (fitted, real)
        ]  # fmt: skip
        assert home[0] == pytest.approx(home[1], rel=0.25)

"""`[arrivals.world]`: what it may say, and the sentences with which it is refused."""

from pathlib import Path

import pytest

from evenmatch.config.files import parse_scenario
from evenmatch.errors import ConfigError
from evenmatch.model.world import Connect, LastMile, RoleMix, Skill, World


def world_of(lines: str = "", players: int = 3, queue: str = "") -> World:
    arrivals = parse_scenario(
        f"[[queue]]\nteams = 2\nplayers = {players}\n{queue}\n"
        f"[arrivals]\nduration = 60\n[arrivals.world]\nplayer_rate = 0.5\n{lines}"
    ).arrivals
    assert arrivals is not None
    assert arrivals.process == "world"
    assert arrivals.world is not None
    return arrivals.world


def test_world_has_defaults_for_all_but_its_rate() -> None:
    world = world_of()
    assert (world.player_rate, world.hour, world.follows) == (0.5, 0.0, "both")
    assert (world.connect, world.last_mile, world.skill) == (Connect(), LastMile(), Skill())
    assert world.home_share == 0.9
    assert world.latencies is None


@pytest.mark.parametrize(
    ("players", "shares"),
    [
        (1, (1.0,)),
        (2, (0.7, 0.3)),
        (3, (0.6, 0.25, 0.15)),
        (4, (0.58, 0.24, 0.1, 0.08)),
        (5, (0.55, 0.22, 0.12, 0.04, 0.07)),
        (8, (0.55, 0.22, 0.12, 0.04, 0.07)),
    ],
)
def test_parties_depend_on_the_size_of_a_team(players: int, shares: tuple[float, ...]) -> None:
    assert world_of(players=players).party_shares == pytest.approx(shares, abs=1e-12)


def test_party_sizes_that_the_queue_does_not_admit_are_left_out_of_the_default() -> None:
    world = world_of(queue="party_sizes = [1, 3]")
    assert world.party_shares == pytest.approx((0.8, 0.0, 0.2))


@pytest.mark.parametrize(
    ("lines", "hour"),
    [
        ('start = "20:00"\nzone = "CET"', 19.0),
        ('start = "20:00"\nzone = "UTC+1"', 19.0),
        ('start = "06:30"\nzone = "AEST"', 20.5),
        ('start = "06:30"\nzone = "+10:00"', 20.5),
        ('start = "23:00"\nzone = "-05:30"', 4.5),
        ('start = "0:00"', 0.0),
    ],
)
def test_start_is_told_in_a_zone(lines: str, hour: float) -> None:
    assert world_of(lines).hour == hour


def test_tickets_come_less_often_than_players() -> None:
    # 0.6 players in parties of one, 0.25 of two, 0.15 of three: 0.775 tickets a player.
    assert world_of().ticket_rate == pytest.approx(0.5 * 0.775)


def test_files_are_found_beside_the_scenario(tmp_path: Path) -> None:
    text = "[[queue]]\n[arrivals]\ncount = 1\n[arrivals.world]\nplayer_rate = 1\n"
    arrivals = parse_scenario(text + 'hours_file = "hours.csv"', tmp_path).arrivals
    assert arrivals is not None
    assert arrivals.world is not None
    assert arrivals.world.hours_file == str(tmp_path / "hours.csv")


ROLES = "roles = {tank = 1, damage = 2}"


def test_roles_are_lists_with_shares_beside_the_seats_of_a_team() -> None:
    world = world_of('roles = {damage = 0.6, "tank+damage" = 0.3, any = 0.1}', queue=ROLES)
    assert world.roles == RoleMix(
        (("damage",), ("tank", "damage"), ()), (0.6, 0.3, 0.1), (("tank", 1), ("damage", 2))
    )
    assert world_of(queue=ROLES).roles is None


@pytest.mark.parametrize(
    ("roles", "sentence"),
    [
        ("{damage = 0.5}", "arrivals.world.roles must sum to 1, got 0.5"),
        ("{}", "arrivals.world.roles must have 1 to 100 entries, got 0"),
        ("{damage = 1.5, tank = -0.5}", "roles.damage must be between 0 and 1, got 1.5"),
        (
            "{damage = true}",
            "arrivals.world.roles.damage must be a number between 0 and 1, got true",
        ),
        (
            "{damge = 1.0}",
            (
                'arrivals.world.roles.damge must name roles of the queue joined by +, or "any"; '
                "allowed: tank, damage, any; did you mean damage?"
            ),
        ),
        ('{"any+tank" = 1.0}', "roles.any+tank must name roles of the queue"),
        ('{"" = 1.0}', 'must name roles of the queue joined by +, or "any"'),
        ('{"tank+tank" = 1.0}', "arrivals.world.roles.tank+tank names a role twice"),
        (
            "{damage = 1.0, any = 0.0}",
            (
                "arrivals.world.roles leave no roles for a party of 3: nobody lists roles but "
                "those of 2 players of a team; add any = 0.05, or set the party's share to 0"
            ),
        ),
    ],
)
def test_roles_that_cannot_be_drawn_are_refused_in_a_sentence(roles: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as refused:
        world_of(f"roles = {roles}", queue=ROLES)
    assert sentence in str(refused.value)


def test_roles_need_a_queue_with_roles_of_other_names_than_any() -> None:
    for queue, sentence in (
        ("", 'arrivals.world.roles do not go with queue "main", which has no roles'),
        ("roles = {any = 1, damage = 2}", 'cannot be drawn for a queue with a role "any"'),
    ):
        with pytest.raises(ConfigError, match=sentence):
            world_of("roles = {damage = 1.0}", queue=queue)


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ("speed = 1", "arrivals.world.speed is not a known key"),
        ('start = "25:00"', "arrivals.world.start must be a time of day"),
        ('zone = "XYZ"', "arrivals.world.zone must be one of UTC"),
        ('zone = "+15:00"', "arrivals.world.zone must be one of UTC"),
        ('follows = "moon"', "arrivals.world.follows must be one of both, shares, neither"),
        ("party_shares = [0.5, 0.4]", "arrivals.world.party_shares must sum to 1, got 0.9"),
        ("party_shares = [0.5, 0.2, 0.2, 0.1]", "does not admit a party of 4"),
        ("party_shares = [1.5, -0.5]", "party_shares[0] must be between 0 and 1"),
        ("home_share = 2", "arrivals.world.home_share must be between 0 and 1"),
        ("connect = {open = 0.5}", "arrivals.world.connect must sum to 1, got 0.5"),
        ("connect = {shut = 1.0}", "arrivals.world.connect.shut is not a known key"),
        ("last_mile = {median = -1}", "arrivals.world.last_mile.median must be between 0"),
        ("last_mile = {spread = 9}", "arrivals.world.last_mile.spread must be between 0 and 3"),
        ("skill = {median = 0}", "arrivals.world.skill.median must be between 1"),
        ("skill = {beginners = 1.1}", "arrivals.world.skill.beginners must be between 0 and 1"),
        ("latencies = 0", "arrivals.world.latencies must be between 1 and 100"),
        ('pings_file = "p.csv"', "arrivals.world.cities_file is missing"),
        ('cities_file = "c.csv"', "arrivals.world.pings_file is missing"),
        ("player_rate2 = 1", "did you mean player_rate?"),
    ],
)
def test_world_that_cannot_be_is_refused_in_a_sentence(lines: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as refused:
        world_of(lines)
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('process = "world"\n', 'arrivals.world is missing; process = "world" needs a table'),
        ("rate = 1.0\n[arrivals.world]\nplayer_rate = 1", "arrivals.rate does not go with"),
        (
            'process = "poisson"\nrate = 1.0\n[arrivals.world]\nplayer_rate = 1',
            'arrivals.world does not go with process = "poisson"',
        ),
        (
            "[[arrivals.classes]]\nshare = 1.0\n[arrivals.world]\nplayer_rate = 1",
            "arrivals.classes do not go with a world",
        ),
        (
            '[arrivals.world]\nplayer_rate = 1\n[attributes.region]\ndistribution = "uniform"',
            "attributes.region is given by [arrivals.world]",
        ),
        (
            '[arrivals.world]\nplayer_rate = 1\n[attributes."latency.x"]\ndistribution="uniform"',
            "attributes.latency.x is given by [arrivals.world]",
        ),
        ("[arrivals.world]\nplayer_rate = 1e8", "arrivals.duration gives about"),
        ("[arrivals.world]\n", "arrivals.world.player_rate is missing"),
    ],
)
def test_arrivals_that_mix_the_world_with_others_are_refused(text: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_scenario(f"[[queue]]\n[arrivals]\nduration = 60\n{text}")
    assert sentence in str(refused.value)

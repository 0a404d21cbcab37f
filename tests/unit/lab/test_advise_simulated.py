"""`evenmatch.advise` where a simulation answers: rare and absent classes, and processes."""

import pytest

from evenmatch import PlayerBase, Split, advise
from evenmatch.config.files import parse_scenario
from evenmatch.errors import ConfigError
from evenmatch.lab.advise import advice, flexible_simulation, pool_scenario
from evenmatch.lab.advise.advice import scenario_of
from evenmatch.lab.advise.flexible_simulation import SharedPools
from evenmatch.lab.advise.pool_simulation import one_by_one, simulated_pool
from tests.extent import only

TWO_ROLES = {"tank": 1, "dps": 1}


@pytest.fixture(autouse=True)
def short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("TICKETS_MIN", "TICKETS_MAX"):
        monkeypatch.setattr(pool_scenario, limit, 400)
    monkeypatch.setattr(flexible_simulation, "TICKETS_MAX", 400)


@pytest.mark.parametrize(
    ("base", "who", "classes"),
    only([
        (PlayerBase(teams=(2, 2), sides={"A": 0.4, "B": 0.0, "any": 0.6}),
         "side A", {"side A", "either side"}),
        (PlayerBase(teams=(2, 2), sides={"A+1": 0.4, "B": 0.3, "any": 0.3}),
         "side A+1", {"side A+1", "side B", "either side"}),
        (PlayerBase(teams=(2, 2), roles=TWO_ROLES, role_shares={"tank": 0, "dps": 0.4, "any": 0.6}),
         "dps", {"dps", "any role"}),
        (PlayerBase(teams=(2, 2), roles=TWO_ROLES, role_shares={"dps": 0.4, "dps+tank": 0.6}),
         "dps", {"dps", "dps or tank"}),
    ], 1, 2),
    ids=["side without players", "side with a plus", "role without players", "all roles by name"],
)  # fmt: skip
def test_only_classes_that_have_players_become_flexible(
    base: PlayerBase, who: str, classes: set[str]
) -> None:
    found = advise(base, players_online=100.0, seed=1)
    (flexible,) = found.flexible
    assert flexible.who == who
    assert flexible.others.keys() == classes
    assert flexible.wait_if_flexible is not None


@pytest.mark.parametrize(
    "base",
    only(
        [
            PlayerBase(teams=(2, 2), sides={"A": 0.0, "B": 0.0, "any": 1.0}),
            PlayerBase(teams=(2, 2), roles=TWO_ROLES, role_shares={"any": 1.0}),
            PlayerBase(teams=(2, 2), roles=TWO_ROLES, role_shares={"tank+dps": 1.0}),
        ],
        2,
    ),
    ids=["sides", "roles", "all roles by name"],
)
def test_where_all_take_everything_nobody_can_become_flexible(base: PlayerBase) -> None:
    found = advise(base, players_online=100.0, seed=1)
    assert not found.flexible
    assert found.simulated.figures["mean"].value > 0.0


def test_a_class_too_rare_to_be_seen_is_left_out() -> None:
    # Of 400 tickets in each of 8 runs none is expected to insist on B.
    base = PlayerBase(teams=(2, 2), sides={"A": 0.4, "B": 1e-9, "any": 0.6 - 1e-9})
    found = advise(base, players_online=100.0, seed=1)
    assert {each.name for each in found.classes} == {"side A", "either side"}
    lonely = PlayerBase(teams=(2, 2), sides={"A": 0.0, "B": 1e-9, "any": 1.0 - 1e-9})
    found = advise(lonely, players_online=100.0, seed=1)
    assert not found.flexible
    assert not found.classes


def test_an_option_too_rare_to_be_seen_has_no_wait_afterwards() -> None:
    base = PlayerBase(teams=(2, 2), splits=(Split("region", {"eu": 1.0 - 1e-7, "moon": 1e-7}),))
    found = advise(base, players_online=1e9, seed=1)
    by_name = {each.who: each for each in found.flexible}
    assert by_name["moon"].others["moon"][1] is None
    assert by_name["moon"].others["eu"][1] > 0.0


@pytest.mark.several_processes
def test_python_calls_simulate_in_their_own_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr("concurrent.futures.ProcessPoolExecutor", refuse)
    base = PlayerBase(teams=(2, 2))
    found = advise(base, players_online=100.0, seed=1)
    assert found.simulated.runs == 8
    assert advice.simulate(found, 1, one_by_one).simulated.figures == found.simulated.figures


@pytest.mark.parametrize(
    ("sides", "kind", "growth"),
    [
        ({"A": 0.6, "B": 0.3, "any": 0.1}, "transient", 0.2),
        ({"A": 0.5, "B": 0.3, "any": 0.2}, "null recurrent", 0.0),
    ],
)
def test_an_unstable_answer_says_its_kind_whatever_was_asked(
    sides: dict[str, float], kind: str, growth: float
) -> None:
    base = PlayerBase(teams=(1, 1), sides=sides)
    found = advise(base, target_wait=60.0).figures()
    assert (found["stable"], found["kind"], found["growth"]) == (False, kind, None)
    assert found["growth_share"] == pytest.approx(growth)
    online = advise(base, players_online=1_920.0).figures()
    assert online["growth"] == pytest.approx(growth)


def test_a_stable_answer_has_no_kind() -> None:
    found = advise(PlayerBase(), target_wait=60.0).figures()
    assert (found["stable"], found["kind"], found["growth_share"]) == (True, None, None)


BREAK = "two\nlines = 1"


@pytest.mark.parametrize(
    "given",
    [
        {"splits": (Split("region", {BREAK: 0.5, "us": 0.5}),)},
        {"splits": (Split(BREAK, {"eu": 0.5, "us": 0.5}),)},
        {"sides": {BREAK: 0.5, "B": 0.5}},
        {"teams": (1, 1), "roles": {BREAK: 1}, "role_shares": {BREAK: 1.0}},
        {"splits": (Split("region", {"eu": 0.5, "\ud800": 0.5}),)},
    ],
    ids=["option", "split", "side", "role", "half a character"],
)
def test_names_that_break_a_scenario_are_refused(given: dict) -> None:
    with pytest.raises(ConfigError, match="a name must be one line of printable text") as raised:
        PlayerBase(**given)
    assert str(raised.value).isprintable()


def test_names_of_any_script_make_a_scenario() -> None:
    shares = {'no "1" \\ [x] #': 0.5, "北": 0.5}
    base = PlayerBase(teams=(2, 2), splits=(Split("région", shares),))
    found = advise(base, players_online=100.0)
    assert parse_scenario(scenario_of(found, 1).toml()).queues
    pools = SharedPools(base, base.splits[0], 1.0, seed=1)
    seen = simulated_pool(pools, 0.5)
    assert seen.classes.keys() == {*shares, "any région"}

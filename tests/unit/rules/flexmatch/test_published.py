"""The rule sets of AWS's guide, and one of three modes: they load, judge, and widen in time."""

from collections.abc import Iterator, Sequence

import pytest

from evenmatch.rules.flexmatch.checker.judgement import is_legal, legal_instants
from evenmatch.rules.flexmatch.checker.match import CandidateMatch, CandidateTicket
from evenmatch.rules.flexmatch.reader import load_rule_set, read_rule_set
from evenmatch.rules.flexmatch.rendering import render_rule_set
from evenmatch.rules.flexmatch.rule_set import (
    BatchDistanceRule,
    RuleSet,
    SortRule,
    TeamExpansion,
)
from tests.flexmatch_kit import match, player, published, ticket, who_objects
from tests.shared import shipped

INF = float("inf")
NAMES = sorted(path.name.removesuffix(".json") for path in shipped("flexmatch").glob("*.json"))


def rules(name: str) -> RuleSet:
    return load_rule_set(published(name))


def alone(number: int, **attributes: object) -> list[CandidateTicket]:
    return [ticket(**attributes) for _ in range(number)]


def skilled(*skills: float) -> list[CandidateTicket]:
    return [ticket(skill=each) for each in skills]


def test_all_twelve_are_there() -> None:
    assert len(NAMES) == 12


@pytest.mark.parametrize("name", NAMES)
def test_rule_set_loads_and_is_written_down_again(name: str) -> None:
    rule_set, findings = read_rule_set(published(name))
    assert rule_set is not None
    assert not [each for each in findings if each.level == "error"]
    again, plain = read_rule_set(render_rule_set(rule_set))
    assert again == rule_set
    assert not [each for each in plain if "comment" in each.message or "second" in each.message]


def comments(text: str) -> Iterator[str]:
    return (line for line in text.splitlines() if "//" in line or "/*" in line)


@pytest.mark.parametrize("name", NAMES)
def test_each_comment_is_a_warning_in_its_line(name: str) -> None:
    text = published(name)
    _, findings = read_rule_set(text)
    lines = [each.line for each in findings if "has a comment" in each.message]
    assert lines == [
        at for at, line in enumerate(text.splitlines(), 1) if "//" in line or "/*" in line
    ]


# 1


def test_aliens_meet_as_many_cowboys() -> None:
    rule_set = rules("01")
    assert is_legal(rule_set, match(cowboys=alone(4), aliens=alone(4)), 0)
    assert is_legal(rule_set, match(cowboys=alone(8), aliens=alone(8)), 0)
    uneven = match(cowboys=alone(5), aliens=alone(4))
    assert who_objects(rule_set, uneven, 99) == ["EqualTeamSizes"]
    assert who_objects(rule_set, match(cowboys=alone(3), aliens=alone(3))) == [
        "teams[cowboys]",
        "teams[aliens]",
    ]


@pytest.mark.parametrize(("gap", "since"), [(20, 0), (20.002, 5), (100, 5), (101, 15), (200, 15)])
def test_teams_of_aliens_and_cowboys_may_be_further_apart_after_a_wait(
    gap: float, since: float
) -> None:
    # Each team is half the gap from the mean of all.
    candidate = match(cowboys=skilled(*[0] * 4), aliens=skilled(*[gap] * 4))
    assert legal_instants(rules("01"), candidate) == ((since, INF),)


def test_teams_of_aliens_and_cowboys_too_far_apart_never_meet() -> None:
    candidate = match(cowboys=skilled(*[0] * 4), aliens=skilled(*[200.5] * 4))
    assert legal_instants(rules("01"), candidate) == ()


# 2


def monster(**attributes: float) -> list[CandidateTicket]:
    return [ticket(wantsToBeMonster=1, **attributes)]


def test_monster_asked_for_it_and_is_good_enough() -> None:
    rule_set = rules("02")
    assert is_legal(rule_set, match(players=alone(5), monster=monster()), 0)
    ambitious = [*alone(4), ticket(desiredSkillOfMonster=11)]
    weak = match(players=ambitious, monster=monster(skill=10))
    assert who_objects(rule_set, weak) == ["MonsterSkill"]
    assert is_legal(rule_set, match(players=ambitious, monster=monster(skill=11)), 0)
    unwilling = match(players=alone(5), monster=alone(1))
    assert who_objects(rule_set, unwilling) == ["MonsterSelection"]
    two = match(players=[*alone(4), *monster()], monster=monster())
    assert who_objects(rule_set, two) == ["PlayerSelection"]


@pytest.mark.parametrize(("players", "since"), [(5, 0), (4, 30), (3, 60)])
def test_monster_meets_fewer_players_after_a_wait(players: int, since: float) -> None:
    candidate = match(players=alone(players), monster=monster())
    assert legal_instants(rules("02"), candidate) == ((since, INF),)


def test_monster_never_meets_two_players() -> None:
    assert legal_instants(rules("02"), match(players=alone(2), monster=monster())) == ()


# 3


def near(number: int, ms: float = 20, **attributes: object) -> list[CandidateTicket]:
    return [ticket(latencies={"eu": ms, "us": 300}, **attributes) for _ in range(number)]


def test_three_teams_have_close_sizes_and_few_medics() -> None:
    rule_set = rules("03")
    assert is_legal(rule_set, match(trio_1=near(3), trio_2=near(4), trio_3=near(4)), 0)
    uneven = match(trio_1=near(3), trio_2=near(4), trio_3=near(5))
    assert who_objects(rule_set, uneven) == ["CloseTeamSizes"]
    medics = near(3, character=("medic", "archer"))
    five = [*near(2, character=("medic",)), *near(1)]
    assert is_legal(rule_set, match(trio_1=medics, trio_2=five, trio_3=near(3)), 0)
    six = match(trio_1=medics, trio_2=near(3, character=("medic",)), trio_3=near(3))
    assert who_objects(rule_set, six) == ["OverallMedicLimit"]


def test_three_teams_of_even_skill() -> None:
    far = match(trio_1=near(3, skill=40), trio_2=near(3), trio_3=near(3))
    assert who_objects(rules("03"), far) == ["FairTeamSkill"]
    edge = match(trio_1=near(3, skill=25), trio_2=near(3), trio_3=near(3))
    assert is_legal(rules("03"), edge, 0)


@pytest.mark.parametrize(("ms", "since"), [(50, 0), (50.5, 10), (100, 10), (101, 20), (150, 20)])
def test_three_teams_take_slower_connections_after_a_wait(ms: float, since: float) -> None:
    candidate = match(trio_1=near(3, ms), trio_2=near(3), trio_3=near(3))
    assert legal_instants(rules("03"), candidate) == ((since, INF),)


def test_three_teams_take_nobody_without_latencies() -> None:
    candidate = match(trio_1=[*near(2), ticket()], trio_2=near(3), trio_3=near(3))
    assert who_objects(rules("03"), candidate, 99) == ["FastConnection"]


# 4


def test_maps_and_modes_are_shared_by_all() -> None:
    rule_set = rules("04")
    assert is_legal(rule_set, match(red=alone(3), blue=alone(3)), 0)
    coop = alone(1, gameMode=("coop",))
    assert is_legal(rule_set, match(red=[*alone(2), *coop], blue=alone(3)), 0)
    death = alone(1, gameMode=("deathmatch",))
    apart = match(red=[*alone(2), *coop], blue=[*alone(2), *death])
    assert who_objects(rule_set, apart) == ["SharedMode"]
    lost = match(red=alone(3, acceptableMaps=("moon",)), blue=alone(3))
    assert who_objects(rule_set, lost) == ["MapOverlap"]


def test_maps_are_sorted_by_in_order() -> None:
    sorts = [each for each in rules("04").rules if isinstance(each, SortRule)]
    assert [(each.kind, each.attribute, each.map_key) for each in sorts] == [
        ("absolute", "mapPreference", "maxValue"),
        ("distance", "experience", None),
    ]


# 5


def fighter(own: str, *opponents: str) -> CandidateTicket:
    return ticket(myCharacter=(own,), preferredOpponents=opponents)


def test_characters_are_such_as_all_want_to_meet() -> None:
    rule_set = rules("05")
    alike = [fighter("elf", "elf", "orc") for _ in range(4)]
    assert is_legal(rule_set, match(red=[*alike, fighter("orc", "elf", "orc", "imp")]), 0)
    imp = match(red=[*alike, fighter("imp", "elf", "orc", "imp")])
    assert who_objects(rule_set, imp, 14.9) == ["OpponentMatch"]
    assert legal_instants(rule_set, imp) == ((15, INF),)


def test_characters_must_be_chosen() -> None:
    candidate = match(red=[*alone(5, myCharacter=("elf",))])
    (reason,) = who_objects(rules("05"), candidate, 99)
    assert "has no preferredOpponents, which has no default" in reason


# 6


def test_duel_is_on_one_map_of_different_characters() -> None:
    rule_set = rules("06")
    pair = match(player_1=alone(1, character=1), player_2=alone(1, character=2))
    assert is_legal(rule_set, pair, 0)
    same = match(player_1=alone(1, character=1), player_2=alone(1, character=1))
    assert who_objects(rule_set, same) == ["DifferentCharacter"]
    other = match(
        player_1=alone(1, character=1, gameMap=2, gameMode="real-time"),
        player_2=alone(1, character=2),
    )
    assert who_objects(rule_set, other) == ["SameGameMode", "SameGameMap"]


# 7 to 9: large matches


def crowd(number: int, ms: float = 50, **attributes: object) -> list[CandidateTicket]:
    return [ticket(latencies={"eu": ms}, **attributes) for _ in range(number)]


@pytest.mark.parametrize(
    ("players", "since"), [(175, 0), (174, 10), (150, 10), (149, 15), (100, 15)]
)
def test_free_for_all_is_played_by_fewer_after_a_wait(players: int, since: float) -> None:
    candidate = match(Marauders=crowd(players, skill=1))
    assert legal_instants(rules("07"), candidate) == ((since, INF),)


def test_free_for_all_has_the_last_of_two_targets_alone() -> None:
    (expansion,) = rules("07").expansions
    assert isinstance(expansion, TeamExpansion)
    slow = match(Marauders=[*crowd(174, skill=1), *crowd(1, 151, skill=1)])
    assert legal_instants(rules("07"), slow) == ()


@pytest.mark.parametrize(("hunters", "since"), [(12, 0), (11, 15), (10, 15), (9, 20), (8, 20)])
def test_monsters_meet_smaller_teams_of_hunters_after_a_wait(hunters: int, since: float) -> None:
    assert legal_instants(rules("08"), hunt(hunters)) == ((since, INF),)


def hunt(size: int) -> CandidateMatch:
    teams: dict[str, Sequence[CandidateTicket]] = {
        f"Hunters_{number}": crowd(12, monster_kills=3) for number in range(1, 10)
    }
    return match(Monsters=crowd(5), Hunters_10=crowd(size), **teams)


def test_monsters_never_meet_seven_hunters_or_slow_ones() -> None:
    assert legal_instants(rules("08"), hunt(7)) == ()
    slow = hunt(11).teams | {"Hunters_10": tuple(crowd(12, 150.5))}
    assert who_objects(rules("08"), CandidateMatch(teams=slow), 99) == ["latency-catchall"]


def hundreds(*, skill: float = 10, league: float = 1, world: str = "ice") -> CandidateMatch:
    plain = {"league": 1, "map": "ice", "mode": "war"}
    odd = ticket(skill=skill, league=league, map=world, mode="war")
    return match(red=alone(100, **plain), blue=[*alone(99, **plain), odd])


@pytest.mark.parametrize(("skill", "since"), [(20, 0), (21, 10), (30, 10), (31, 20), (50, 20)])
def test_large_match_takes_wider_skills_after_a_wait(skill: float, since: float) -> None:
    assert legal_instants(rules("09"), hundreds(skill=skill)) == ((since, INF),)


def test_large_match_is_of_one_map_and_near_leagues() -> None:
    assert legal_instants(rules("09"), hundreds(skill=51)) == ()
    assert who_objects(rules("09"), hundreds(league=3.5)) == ["SimilarLeague"]
    assert is_legal(rules("09"), hundreds(league=3), 0)
    assert who_objects(rules("09"), hundreds(world="fire"), 99) == ["SameMap"]


def test_large_match_has_its_numbers_out_of_quotes() -> None:
    rule = rules("09").rules[0]
    assert isinstance(rule, BatchDistanceRule)
    assert rule.distance_max == 2


# 10


def ten(**odd: object) -> CandidateMatch:
    plain = {"league": 1, "map": "ice", "mode": "war"}
    return match(red=alone(10, **plain), blue=[*alone(9, **plain), ticket(**(plain | odd))])


def test_compound_wants_the_same_game_or_similar_players() -> None:
    rule_set = rules("10")
    assert is_legal(rule_set, ten(skill=500, league=9), 0)
    assert is_legal(rule_set, ten(map="fire", skill=20, league=3), 0)
    assert who_objects(rule_set, ten(map="fire", league=4), 99) == ["CompoundRule"]


@pytest.mark.parametrize(("skill", "since"), [(20, 0), (21, 10), (30, 10), (31, 20), (50, 20)])
def test_compound_widens_with_the_rules_that_it_names(skill: float, since: float) -> None:
    assert legal_instants(rules("10"), ten(mode="peace", skill=skill)) == ((since, INF),)


# 11


def test_blocked_player_is_in_no_match() -> None:
    rule_set = rules("11")
    assert is_legal(rule_set, match(red=alone(5), blue=alone(5, BlockList=("stranger",))), 0)
    troll = ticket(player("troll"))
    angry = alone(1, BlockList=("nobody", "troll"))
    candidate = match(red=[*alone(4), troll], blue=[*alone(4), *angry])
    assert who_objects(rule_set, candidate, 99) == ["PlayerIdNotInBlockList"]


# Three modes


@pytest.mark.parametrize("players", [1, 3, 5])
def test_three_modes_are_played_in_their_sizes(players: int) -> None:
    assert is_legal(rules("radiant"), match(Radiant=alone(players), Dire=alone(players)), 0)


@pytest.mark.parametrize("players", [2, 4])
def test_three_modes_have_no_other_sizes(players: int) -> None:
    candidate = match(Radiant=alone(players), Dire=alone(players))
    assert who_objects(rules("radiant"), candidate, 99) == ["OneMode"]


def test_three_modes_are_chosen_by_all() -> None:
    duellists = alone(2, mode=("Duel",))
    assert is_legal(rules("radiant"), match(Radiant=duellists[:1], Dire=duellists[1:]), 0)
    trio = match(Radiant=[*alone(2), duellists[0]], Dire=alone(3))
    assert who_objects(rules("radiant"), trio, 99) == ["OneMode"]
    assert who_objects(rules("radiant"), match(Radiant=alone(3), Dire=alone(2))) == [
        "EqualSizes",
        "OneMode",
    ]


@pytest.mark.parametrize(("gap", "since"), [(100, 0), (101, 10), (200, 10), (201, 30), (400, 30)])
def test_duel_of_three_modes_widens(gap: float, since: float) -> None:
    candidate = match(Radiant=skilled(1000), Dire=skilled(1000 + gap))
    assert legal_instants(rules("radiant"), candidate) == ((since, INF),)


@pytest.mark.parametrize(("gap", "since"), [(150, 0), (151, 20), (300, 20)])
def test_trio_of_three_modes_widens(gap: float, since: float) -> None:
    candidate = match(Radiant=skilled(*[1000] * 3), Dire=skilled(*[1000 + gap] * 3))
    assert legal_instants(rules("radiant"), candidate) == ((since, INF),)

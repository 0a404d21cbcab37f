"""What people read of an advice where waits are none, endless, or shared out."""

import pytest

from evenmatch import PlayerBase, Split, advise
from evenmatch.cli.advise_view import answer, cut_lines, flexible_lines, margins, split_lines
from evenmatch.cli.main import main

REGIONS = Split("region", {"eu": 0.6, "us": 0.3, "asia": 0.1})
LEVELS = (0.1, 0.2, 0.3, 0.4)


def test_who_waits_longer_than_the_percentile_is_the_rest() -> None:
    _, second = answer(advise(PlayerBase(splits=(REGIONS,)), target_wait=60.0, percentile=0.9))
    assert (
        "are enough for 90 % of all players together, but then 10 % of those in asia wait" in second
    )


def test_a_pool_that_never_matches_so_many_says_so() -> None:
    base = PlayerBase(splits=(REGIONS,), patience=120.0)
    first, second = answer(advise(base, target_wait=60.0, percentile=0.9))
    assert "for 90 % of the players of each of the 3 pools to be matched within 60 s" in first
    assert second.endswith(
        "but then fewer than 90 % of those in asia are ever matched, because many give up first."
    )


def test_no_wait_is_printed_as_a_dash_in_a_sentence() -> None:
    base = PlayerBase(splits=(REGIONS,), patience=60.0, levels=LEVELS, hours=(1.0,) * 24)
    found = advise(base, players_online=300.0, target_wait=60.0, percentile=0.8)
    sentences = [*answer(found), *split_lines(found), *flexible_lines(found), *cut_lines(found)]
    assert "and the worst pool would still match too few" in sentences[2]
    assert "with today's the smallest zone matches too few" in sentences[-1]
    assert not any(each.endswith((" -", " -.")) or " -;" in each for each in sentences)


@pytest.mark.parametrize(
    ("base", "why"),
    [
        (PlayerBase(), "any waiting players can play with each other."),
        (PlayerBase(parties=(0.5, 0.0, 0.0, 0.0, 0.5)), "nobody can be too many for the others."),
    ],
)
def test_queues_stay_short_at_any_number_for_a_reason_that_is_true(
    base: PlayerBase, why: str
) -> None:
    assert list(margins(advise(base, players_online=1_000.0))) == [
        f"Yes, at any number of players: {why}"
    ]


def test_a_wait_that_nobody_notices_is_none() -> None:
    base = PlayerBase(teams=(1, 1), splits=(Split.even("modes", 500),))
    line = next(flexible_lines(advise(base, players_online=100_000.0)))
    assert line.startswith("a player of modes 1 who takes any modes plays at once on average, not ")


@pytest.mark.parametrize(("patience", "is_said"), [(None, True), (60.0, False)])
def test_cuts_share_out_the_mean_wait_only_where_nobody_gives_up(
    patience: float | None, is_said: bool
) -> None:
    found = advise(PlayerBase(levels=LEVELS, patience=patience), target_wait=60.0)
    lines = list(cut_lines(found))
    assert any("the mean wait of all players is the same" in line for line in lines) == is_said


@pytest.mark.parametrize(
    ("percentile", "advice"), [(0.5, "such as 0.9."), (0.1, "such as 0.9."), (0.93, None)]
)
def test_what_is_left_out_where_nobody_waits_says_why(
    percentile: float, advice: str | None
) -> None:
    base = PlayerBase(teams=(1, 1), splits=(Split("region", {"eu": 0.6, "us": 0.4}),),
                      levels=LEVELS, zones=3)  # fmt: skip
    found = advise(base, players_online=300.0, percentile=percentile)
    for lines in (list(split_lines(found)), list(cut_lines(found))):
        assert lines
        left_out = [each for each in lines if each.startswith("left out: ")]
        assert len(left_out) == (advice is not None)
        assert not left_out or (lines == left_out and lines[0].endswith(advice or ""))


def test_each_zone_adds_as_much_to_the_mean_wait_of_all() -> None:
    one = advise(PlayerBase(), players_online=900.0).pooled.mean
    cut = advise(PlayerBase(splits=(Split.even("zone", 3),)), players_online=900.0).pooled.mean
    assert one is not None
    assert cut == pytest.approx(3.0 * one, rel=0.1)
    *_, line = cut_lines(advise(PlayerBase(levels=LEVELS, zones=3), target_wait=60.0))
    assert line.endswith("two zones make it twice as long as one, three three times")


@pytest.mark.parametrize("patience", [None, 60.0])
def test_table_says_whose_wait_is_whose_where_some_give_up(
    capsys: pytest.CaptureFixture[str], patience: float | None
) -> None:
    given = [] if patience is None else ["--patience", f"{patience:g}"]
    assert main(["advise", "--match", "1v1", "--players-online", "300", *given]) == 0
    told = "mean of matched  50 % of all  90 % of all  95 % of all below" in capsys.readouterr().out
    assert told == (patience is not None)


def test_the_same_number_is_too_many_and_never_placed() -> None:
    sides = {"A": 0.6, "B": 0.3, "any": 0.1}
    found = advise(PlayerBase(teams=(1, 1), sides=sides), players_online=100.0)
    assert "Of every 100 players who search, 20 can never be placed." in next(answer(found))
    _, line, *_ = margins(found)
    assert line.startswith("! players who insist on A must drop by more than 20 per 100 players")


def test_close_is_judged_by_players_who_would_have_to_come_otherwise() -> None:
    # Solos exceed duos by 7 parties per 100 players, which 4.7 players in duos more make none.
    found = advise(PlayerBase(teams=(3, 3), parties=(0.38, 0.62)), target_wait=60.0)
    assert list(margins(found))[1] == "close: solos exceed duos by 7 per 100 players"
    (margin,) = found.known.margins
    assert margin.margin == pytest.approx(0.07)
    moved = margin.players
    on_the_boundary = PlayerBase(teams=(3, 3), parties=(0.38 - moved, 0.62 + moved))
    assert advise(on_the_boundary, target_wait=60.0).known.margins[0].margin == pytest.approx(0.0)
    spare = advise(PlayerBase(teams=(3, 3), parties=(0.4, 0.6)), target_wait=60.0)
    assert list(margins(spare))[1].startswith("- solos exceed duos by 10 per")


@pytest.mark.parametrize(
    ("base", "is_said"),
    [
        (PlayerBase(splits=(REGIONS,)), True),
        (PlayerBase(splits=(REGIONS,), patience=60.0), False),
        (PlayerBase(splits=(Split.even("band", 7),)), False),
        (PlayerBase(teams=(1, 1), splits=(Split.even("band", 40),)), False),
    ],
    ids=["plain", "patience", "many options", "duels"],
)
def test_a_simulation_is_offered_only_where_it_shows_who_loses(
    base: PlayerBase, is_said: bool
) -> None:
    lines = list(flexible_lines(advise(base, players_online=5_000.0)))
    assert lines
    assert ("--simulate shows what happens to the others if many do so" in lines) == is_said


def test_with_patience_a_flexible_player_is_matched_more_often() -> None:
    regions = (Split("region", {"eu": 0.6, "us": 0.4}),)
    base = PlayerBase(teams=(2, 2), patience=60.0, splits=regions)
    first, *_, last = flexible_lines(advise(base, players_online=60.0))
    assert first.endswith(
        "plays after 20 s on average, not 32 s, and 60.6 % of such players are matched, not 32.2 %"
    )
    # No simulation of many flexible players with patience is made.
    assert "--simulate" not in last


def test_whom_nobody_can_play_with_gives_up() -> None:
    base = PlayerBase(teams=(1, 1), patience=60.0, sides={"A": 1.0, "B": 0.0})
    assert list(answer(advise(base, players_online=500.0))) == [
        "No number of players is enough: nobody can ever be placed, and all give up."
    ]

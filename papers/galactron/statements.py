"""What the blog on the matchmaking of Awesomenauts says."""

from __future__ import annotations

from papers.statements.saying import PaperStatement

WORLD = "The players are our own model of the world; the game's are not published."
CHANCE = "More pools narrow the interval."
MACHINE = "Their computer and program and ours are different ones, so that nothing is judged."


def _says(name: str, says: str, **more: object) -> PaperStatement:
    return PaperStatement(id=f"galactron.{name}", says=says, **more)  # type: ignore[arg-type]


def _ours(name: str, says: str, what: str = "") -> PaperStatement:
    return PaperStatement(id=f"galactron.{name}", says=says, what=what, is_ours=True)


RULES = (
    _says("factors", "The six factors give what the blog says of its examples."),
    _says(
        "factors",
        "The worst match has 0 % for equal players.",
        what="equal players: the worst",
        mended="Right: 40 %. The factor is a mean over all 15 pairs of six players, and of "
        "three pros and three beginners six pairs are still equal.",
    ),
    _ours("factors", "What the blog leaves open about variation.", "variation:"),
    _ours("factors", "What the blog leaves open about hosts.", "hosts: nobody"),
    _ours("factors", "What the blog leaves open about hosts: one host.", "hosts: one"),
    _ours("factors", "Of how many pairs opponent variation is a mean.", "pairs that opponent"),
    _ours("factors", "How many divisions of six players there are.", "divisions of six"),
    _says(
        "scale",
        "From 110 to 100 ms is worth twice as much as from 210 to 200 ms.",
        what="the second is worth",
        slack=0.05,
    ),
    _ours("scale", "What these steps are worth, points.", "points of ping"),
    _says("cap", "Players above the cap count as players at the cap.", what="points that"),
    _says(
        "cap",
        "Some .3 % of the players are above 18,000.",
        what="percent of players",
        reason=f"{WORLD} Its ratings are wider at the top than those of the game.",
    ),
    _says(
        "root",
        "Square roots prefer matches of 55 and 80 % to matches of 50 and 90 %.",
        what="gain by the sqrt",
        mended="Right: the root loses 1.6 points by that change, and only means of powers below "
        "-.44 gain. A square root bends too little: √.5 + √.9 is more than √.55 + √.8.",
    ),
    _ours("root", "The same by the plain mean.", "gain by the mean"),
    _ours("root", "The same by the root mean square of what is missing.", "gain by the rms"),
    _ours("root", "Which powers do prefer it.", "the change is"),
)
SEARCH = (
    _says(
        "starts",
        "Sorting by skill starts with the best skill scores that can be had.",
        what="players' factor that sorting",
        condition="If everybody plays alone: parties keep players together whose skills differ.",
    ),
    _says("starts", "It starts with bad pings.", what="ping: sorting"),
    _says("starts", "It starts with bad premades.", what="premade: sorting"),
    _ours(
        "starts", "How good the four orders of first matches are, and what a descent makes of them."
    ),
    _says(
        "swaps",
        "The first swaps improve matches drastically.",
        reading="Drastically is read as twice the gain of an average swap: the first tenth "
        "brings 16 % of a descent's gain, the first quarter 41 %. Ours take the best of many "
        "swaps from the start, so that the first ones stand out less.",
    ),
    _says(
        "retries",
        "A couple of retries are nearly as good as thousands.",
        what="beyond a couple",
        reading='"Surprisingly small" is read as a tenth of what one descent gains.',
    ),
    _ours("retries", "The best of so many descents.", "mean quality"),
    _ours("retries", "What one descent gains.", "one descent"),
    _ours("retries", "What one descent takes.", "evaluations"),
    _ours("retries", "Annealing with the effort of three descents beside it.", "annealing"),
    _says("speed", "A few hundred swaps a second.", what="swaps made", note=MACHINE),
    _says("speed", "A couple of retries in five seconds.", what="descents in", note=MACHINE),
    _says("speed", "Fewer retries with more players.", what="times the retries"),
    _ours("speed", "What a descent takes, by the number of players.", "evaluations of a descent"),
    _ours("speed", "Matches evaluated a second.", "matches evaluated"),
    _ours("speed", "Swaps to try before each one made, if all are.", "swaps to try"),
    _ours("time", "Quality against effort, by method."),
    _says(
        "annealing",
        "Annealing is probably not significantly better than descents.",
        condition="At the efforts that the blog could afford: with more time annealing is better.",
    ),
    _says(
        "forced", "Restarts are better than forced swaps.", what="restarts better", reason=CHANCE
    ),
    _says(
        "forced", "Forced swaps improve on a descent.", what="forced swaps better", reason=CHANCE
    ),
    _says(
        "bound",
        "The matches are almost certainly not the best.",
        what="percent of pools whose best a couple",
        reason=CHANCE,
    ),
    _ours("bound", "How far descents are from the bound, points.", "a couple of descents"),
    _ours("bound", "How far annealing is from the bound, points.", "annealing"),
    _ours("bound", "How far the best that is known is from the bound, points.", "the best"),
    _ours("bound", "How often the best is proved.", "percent of pools whose best is"),
)
ROUNDS = (
    _says("pool", "More players make better matches, up to 300.", what="better than"),
    _ours("pool", "Quality by the number of players."),
    _says(
        "regions",
        "A round has too few players of South America and Oceania for a match.",
        what="players of the region in",
    ),
    _says(
        "regions",
        "300 players would be enough for a match of these regions.",
        what="players of a round that",
        condition="For one of the two regions: the other needs more, at the shares of our world.",
        reason=WORLD,
    ),
    _ours("regions", "Players, quality and ping of a region's players."),
    _says("regions", "Players of these regions have worse pings.", what="ping with enemies above"),
    _says(
        "regions",
        "With 300 players their pings are better.",
        what="ping with enemies less",
        reason=CHANCE,
    ),
    _says(
        "extremes",
        "Parties of several regions are behind many of the worst matches.",
        what="matches with a party",
        reason=CHANCE,
    ),
    _ours("extremes", "What matches with and without such parties have."),
    _says("rounds", "A round begins when the countdown ends.", what="seconds by which"),
    _says(
        "rounds",
        "100 players wait after some five minutes at 20 a minute.",
        what="minutes until",
        unit=0.5,
        note="Who is left over by a round waits for the next, which is the sooner full.",
    ),
    _says(
        "rounds",
        "Nobody waits longer than the longest wait.",
        what="seconds that 95 %",
        condition="If a round leaves nobody over: who finds no seat in it, since matches are "
        "whole, waits for the next.",
    ),
    _says(
        "streams",
        "Rounds make slightly better matches than starting when matches are good enough.",
        what="quality: more",
        reason=CHANCE,
    ),
    _ours("streams", "Quality and wait of a stream of players, by policy."),
    _says("variation", "The factor keeps people from meeting again.", what="fewer met"),
    _ours("variation", "How often people meet again, and what it costs to avoid."),
)
WEIGHTS = (
    _says(
        "teammates",
        "Asking for ping to teammates would make ping to enemies worse.",
        what="ping: points lost",
        reason="In our world teammates near each other have enemies who are near as well, so "
        "that the second factor helps the first.",
    ),
    _ours("teammates", "What the other factors lose for it, points."),
    _says(
        "weights",
        "A factor less gives to all the others, a heavier one takes from them.",
        reason=CHANCE,
    ),
    _says("hosts", "The factor finds hosts for more matches.", what="percent with a host: more"),
    _says("hosts", "The factor finds two hosts for more matches.", what="percent with two: more"),
    _ours("hosts", "How many matches have hosts, percent."),
    _says(
        "shares",
        "Premades react more extremely than other factors.",
        what="premades spread",
        reason=CHANCE,
    ),
    _ours("shares", "What share of quality's variance is a factor's, over its weight."),
    _says(
        "objective",
        "Another sum than the mean controls the worst matches.",
        what="worst tenth: more",
        reason=CHANCE,
    ),
    _says(
        "objective",
        "Another sum than the mean controls the very worst match.",
        what="worst: more",
        reason=CHANCE,
    ),
    _ours("objective", "What each objective leads to, points."),
)
SAYINGS = (*RULES, *SEARCH, *ROUNDS, *WEIGHTS)

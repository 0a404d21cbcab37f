"""The statements of the blog on the matchmaking of Awesomenauts."""

from __future__ import annotations

from papers.statements.saying import PaperStatement

WORLD = "The players come from our own model of the world; those of the game are not published."
CHANCE = "More pools would narrow the interval."
MACHINE = "Their computer and program differ from ours, so this is not judged."


def _says(name: str, says: str, **more: object) -> PaperStatement:
    return PaperStatement(id=f"galactron.{name}", says=says, **more)  # type: ignore[arg-type]


def _ours(name: str, says: str, what: str = "") -> PaperStatement:
    return PaperStatement(id=f"galactron.{name}", says=says, what=what, is_ours=True)


RULES = (
    _says("factors", "The six factors give the scores that the blog gives for its examples."),
    _says(
        "factors",
        "The worst match has 0 % for equal players.",
        what="equal players: the worst",
        mended="Right: 40 %. The factor is a mean over all 15 pairs of six players, and with "
        "three pros and three beginners six pairs are still equal.",
    ),
    _ours("factors", "What the blog leaves open about variation.", "variation:"),
    _ours("factors", "What the blog leaves open about hosts.", "hosts: nobody"),
    _ours("factors", "What the blog leaves open about hosts: one host.", "hosts: one"),
    _ours("factors", "How many pairs opponent variation averages over.", "pairs that opponent"),
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
        "About .3 % of the players are above 18,000.",
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
    _ours("root", "The same with the plain mean.", "gain by the mean"),
    _ours("root", "The same with the root mean square of what is missing.", "gain by the rms"),
    _ours("root", "Which powers prefer the change.", "the change is"),
)
SEARCH = (
    _says(
        "starts",
        "Sorting by skill starts with the best possible scores for skill.",
        what="players' factor that sorting",
        condition="If everybody plays alone: parties keep players together whose skills differ.",
    ),
    _says("starts", "It starts with bad scores for ping.", what="ping: sorting"),
    _says("starts", "It starts with bad scores for premades.", what="premade: sorting"),
    _ours("starts", "How good the four orders of first matches are, before and after a descent."),
    _says(
        "swaps",
        "The first swaps improve matches drastically.",
        reading="We read drastically as twice the gain of an average swap: the first tenth "
        "brings 16 % of a descent's gain, the first quarter 41 %. Our descents take the best of "
        "many swaps from the start, so the first ones stand out less.",
    ),
    _says(
        "retries",
        "A couple of retries are nearly as good as thousands.",
        what="beyond a couple",
        reading='We read "surprisingly small" as a tenth of what one descent gains.',
    ),
    _ours("retries", "The best of several descents.", "mean quality"),
    _ours("retries", "What one descent gains.", "one descent"),
    _ours("retries", "How many evaluations one descent takes.", "evaluations"),
    _ours("retries", "Annealing with the effort of three descents.", "annealing"),
    _says("speed", "A few hundred swaps a second.", what="swaps made", note=MACHINE),
    _says("speed", "A couple of retries in five seconds.", what="descents in", note=MACHINE),
    _says("speed", "Fewer retries with more players.", what="times the retries"),
    _ours(
        "speed", "Evaluations of a descent, by the number of players.", "evaluations of a descent"
    ),
    _ours("speed", "Matches evaluated per second.", "matches evaluated"),
    _ours("speed", "How many swaps are tried for each one made, if all are.", "swaps to try"),
    _ours("time", "Quality against effort, by method."),
    _says(
        "annealing",
        "Annealing is probably not significantly better than descents.",
        condition="With the effort that the blog could afford: with more time annealing is better.",
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
    _ours("bound", "How far the best known plan is from the bound, points.", "the best"),
    _ours("bound", "How often the best plan is proved.", "percent of pools whose best is"),
)
ROUNDS = (
    _says("pool", "More players make better matches, up to 300.", what="better than"),
    _ours("pool", "Quality by the number of players."),
    _says(
        "regions",
        "A round has too few players from South America and Oceania for a match.",
        what="players of the region in",
    ),
    _says(
        "regions",
        "300 players would be enough for a match of these regions.",
        what="players of a round that",
        condition="For one of the two regions: the other needs more, with the shares of our world.",
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
        "Many of the worst matches have a party from several regions.",
        what="matches with a party",
        reason=CHANCE,
    ),
    _ours("extremes", "Figures of matches with and without such parties."),
    _says("rounds", "A round begins when the countdown ends.", what="seconds by which"),
    _says(
        "rounds",
        "At 20 players a minute, 100 players wait after about five minutes.",
        what="minutes until",
        unit=0.5,
        note="Players left over from a round wait for the next, which is therefore full sooner.",
    ),
    _says(
        "rounds",
        "Nobody waits longer than the longest wait.",
        what="seconds that 95 %",
        condition="If a round leaves nobody over: matches must be full, so a player without a "
        "seat waits for the next round.",
    ),
    _says(
        "streams",
        "Rounds make slightly better matches than starting when matches are good enough.",
        what="quality: more",
        reason=CHANCE,
    ),
    _ours("streams", "Quality and wait of a stream of players, by policy."),
    _says("variation", "The factor keeps players from meeting again.", what="fewer met"),
    _ours("variation", "How often players meet again, and what it costs to avoid this."),
)
WEIGHTS = (
    _says(
        "teammates",
        "A factor for the ping to teammates would make the ping to enemies worse.",
        what="ping: points lost",
        reason="In our world, teammates who are near each other have near enemies as well, so "
        "the second factor helps the first.",
    ),
    _ours("teammates", "How many points the other factors lose for it."),
    _says(
        "weights",
        "Removing a factor helps all the others, and a heavier one costs them.",
        reason=CHANCE,
    ),
    _says("hosts", "The factor finds hosts for more matches.", what="percent with a host: more"),
    _says("hosts", "The factor finds two hosts for more matches.", what="percent with two: more"),
    _ours("hosts", "How many matches have hosts, percent."),
    _says(
        "shares",
        "The factor for premades varies more extremely than the others.",
        what="premades spread",
        reason=CHANCE,
    ),
    _ours("shares", "The share of a factor in the variance of quality, over its weight."),
    _says(
        "objective",
        "An objective other than the mean controls the worst matches.",
        what="worst tenth: more",
        reason=CHANCE,
    ),
    _says(
        "objective",
        "An objective other than the mean controls the very worst match.",
        what="worst: more",
        reason=CHANCE,
    ),
    _ours("objective", "What each objective leads to, points."),
)
SAYINGS = (*RULES, *SEARCH, *ROUNDS, *WEIGHTS)

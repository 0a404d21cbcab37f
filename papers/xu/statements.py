"""The statements of "Rule Designs for Optimal Online Game Matchmaking"."""

from __future__ import annotations

from papers.statements.saying import PaperStatement

CHAIN = "l1 and l2 are the rates of individual players and of pairs, L = l1 + 2 l2."
TWO_QUEUES = (
    "Right: (8 l1² + 11 l1 l2 + 40 l2²) / (4 L² l1 l2); " + CHAIN + " The print mixes the "
    "variances of the two queues where a mixture needs their second moments. So it leaves out the "
    "squares of their two mean waits, and is too small by (2 l1 + 9 l2) / (4 l1 l2 L)."
)
FIFO = (
    "Right: (2 l1 + l2)(5 l1 + 2 l2) / (2 l1 (l1 + l2)² L) - 9 / (4 L²); " + CHAIN + " Without "
    "pairs this is the match of four single players, whose wait has the variance 2.75 / l1² by the "
    "paper's own chain. The print gives 1.25 / l1² there, which is the variance if the missing "
    "players came at a steady pace: it leaves out how the times between them scatter."
)
LIFO = (
    "Right: (2 l1 + l2)(5 l1⁴ + 20 l1³ l2 + 30 l1² l2² + 20 l1 l2³ + 4 l2⁴) / "
    "(2 l1 (l1 + l2)³ L (l1² + 2 l1 l2 + 2 l2²)) - 9 / (4 L²); " + CHAIN + " Without pairs there "
    "is nobody to choose, so that (9) and (10) have to agree: printed they are 1.25 / l1² and "
    "1.75 / l1², and both should be 2.75 / l1²."
)
MINIMUM = (
    "Right: the least variance is at a share of 5 - 2 √5 = .528 of individual players, and is "
    "(2.75 + 4 √5) / L² = 11.69 / L². (11) minimises the printed (7), whose missing part grows "
    "where pairs are many, so that the printed minimum is too far on their side and less than "
    "half as high."
)


def _says(name: str, says: str, **more: object) -> PaperStatement:
    return PaperStatement(id=f"xu.{name}", says=says, **more)  # type: ignore[arg-type]


def _ours(name: str, says: str, what: str = "") -> PaperStatement:
    return PaperStatement(id=f"xu.{name}", says=says, what=what, is_ours=True)


K_PLAYERS = (
    _says("1", "(1): a player of a k-player match waits (k - 1) / (2 λ) on average."),
    _ours("1", "Not printed: that wait has the variance ((k² - 1) / 12 + (k - 1) / 2) / λ².",
          "variance of the wait"),
    _says("2", "(2): 0 to k - 1 waiting players are equally likely, so 1 in k doesn't wait."),
    _says("figure2", "Figure 2: the chain of four players spends a quarter of the time in each "
          "state."),
    _says("lemma1", "Lemma 1: the mean wait is (1) in whatever order players are taken."),
    _ours("lemma1", "Nor does the order change the variance: if at most k wait, all play.",
          "variance"),
)  # fmt: skip
TWO_V_TWO = (
    _says("3", "(3): players of two against two wait 3 / (2 L) on average if a match starts as "
          "soon as it can."),
    _says("4", "(4): individual players with a queue of their own wait 3 / (2 l1)."),
    _says("5", "(5): pairs with a queue of their own wait 1 / (2 l2)."),
    _says("6", "(6): players of two queues wait 5 / (2 L)."),
    _says("7", "(7): the variance of the wait in two queues.", mended=TWO_QUEUES),
    _says("8", "(8): FIFO, LIFO and packing have the same mean wait, 3 / (2 L)."),
    _ours("8", "Not printed: individual players wait (3 l1² + 3 l1 l2 + l2²) / (2 l1 (l1 + l2)²), "
          "in any order.", "mean wait of solos"),
    _ours("8", "Not printed: pairs wait (3 l1 + 2 l2) / (4 (l1 + l2)²), less than individual "
          "players.", "mean wait of pairs"),
    _says("9", "(9): the variance of the wait under FIFO and packing.", mended=FIFO),
    _says("10", "(10): the variance of the wait under LIFO.", mended=LIFO),
    _says("11", "(11): two queues vary least if a share of 2 √33 - 11 = .489 plays alone.",
          mended=MINIMUM),
    _says("lemma2", "Lemma 2: in every order that starts two against two as soon as possible, the "
          "mean wait is 3 / (2 L).",
          condition="If every player counts once, and some come alone: the mean wait per party is "
          "(6 l1² + 9 l1 l2 + 4 l2²) / (4 (l1 + l2)³), and with only pairs it is 1 / L."),
    _says("lemma2", "Lemma 2: the order of service doesn't change the mean wait.",
          what="largest difference"),
    _ours("lemma2", "With hardly any individual players the mean still holds, because the one who "
          "is stuck makes up for it.", "share of all waiting"),
    _ours("lemma2", "These few wait about 1 / (2 l1), and for ever if nobody else comes alone.",
          "mean wait of these few"),
    _says("figure3", "Figure 3: 0 to 3 waiting players are equally likely."),
    _says("figure4", "Figure 4: the law of the chain that distinguishes individual players and "
          "pairs."),
    _says("figure5", "Figure 5: the variances over the share of individual players.",
          mended="Right: the curves of the corrected (7), (9) and (10). The order of the curves is "
          "as printed, FIFO below LIFO below two queues; their heights are not."),
    _says("text3", "With two queues players wait 67 % longer than with one.",
          what="two queues: percent more", unit=0.5),
    _says("text3", "FIFO varies least and two queues most, at every share.", what="shares out of"),
    _says("text3", "Two queues vary more than FIFO.", what="two queues: least variance"),
    _says("text3", "The variances of FIFO and LIFO do not differ much.",
          what="'do not differ much'",
          reading="The paper does not say how much is much. LIFO's variance is at most 19 % above "
          "FIFO's, and less than 14 % at half of all shares."),
    _ours("text3", "Both variances grow without bound if hardly anybody comes alone.",
          "FIFO's variance"),
    _says("text3", "Packing makes the same matches as FIFO.", what="packing is FIFO",
          note="The two are one method under two names here: they make the same matches."),
)  # fmt: skip
LARGER = (
    _ours("orders", "Teams of three and five: mean wait by order of service.", "mean wait"),
    _ours("orders", "Teams of three and five: variance of the wait by order of service.",
          "variance of the wait"),
    _ours("orders", "How far the rates are from a point at which one size of party waits for ever.",
          "least margin"),
    _says("optimal", "No rule has a shorter mean wait than starting two against two at once.",
          what="least mean wait of any rule, two"),
    _says("optimal", "Packing is a good choice for larger teams.", what="'packing is a good",
          condition="Within a few percent of taking the largest parties first, at the rates "
          "tried."),
    _ours("optimal", "No rule for teams of k has a mean wait below (2k - 1) / (2 λ).",
          "least mean wait of any rule, (2k"),
    _says("reserve", "Starting as soon as possible is the best for larger teams too.",
          what="starting as soon",
          condition="Only for teams of two: from three on it pays to keep individual players back "
          "for pairs, by 29 % of the mean wait near the border of stability."),
    _ours("reserve", "The players who are kept back pay for it.", "times as long"),
    _ours("figure6", "Figure 6: times between packages, their mean."),
    _ours("figure6", "Packages vary less than a Poisson process.", "variance of that time"),
    _ours("figure6", "Short times between packages are rarer than in a Poisson process.",
          "share of times below"),
    _says("figure6", "The Poisson approximation is worse the more players come alone.",
          what="'more inaccurate"),
    _says("latency", "Latency changes the order of arrivals, and not the waits.",
          note="Arrivals that are delayed by chance are Poisson again (displacement theorem)."),
    _ours("latency", "What players feel: the wait plus their own delay.", "mean wait, as felt"),
    _ours("latency", "The variance of what players feel.", "variance of the wait, as felt"),
    _ours("latency", "How many parties reach the matchmaker after one that came later.",
          "share of parties that others overtake"),
    _ours("latency", "How many parties play others than without latency.",
          "share of parties that play others"),
)  # fmt: skip
SIDES = (
    _says("12", "(12): sides are stable if choice-free players outnumber |λA - λB|."),
    _says("fact3", "Fact 3: positive recurrent above that number, not at it and not below."),
    _says("pi0", "The probability that nobody waits in duels with sides."),
    _says("13", "(13): the mean wait of side A."),
    _says("14", "(14): the mean wait of side B."),
    _says("15", "(15): the mean wait of choice-free players."),
    _says("16", "(16): the mean wait of all players of duels with sides."),
    _says("17", "(17): the improvement factor, choice-free wait over that of side B."),
    _says("18", "(18): the slope of the improvement factor."),
    _says("figure7", "Figure 7: with nobody choice-free, queues of equal sides grow by the root of "
          "the arrivals, of unequal ones in proportion."),
    _says("growth", "Too few choice-free players: the larger side's queue grows by the "
          "difference."),
    _says("figure8", "Figure 8: the law of the chain with sides.", what="share of time"),
    _says("figure8", "Figure 8: the arc from 1 to 2 has the rate λ1.",
          mended="Right: λA. Section IV has no λ1; the label is left from the chain of section "
          "II."),
    _says("figure9", "Figure 9: the mean wait over the shares of the sides."),
    _says("figure10", "Figure 10: the mean wait at λB = .4."),
    _says("26", "(26): the z-transform of the states in which side A waits."),
    _says("27", "(27): the z-transform of the states in which side B waits."),
    _says("28", "(28): the equation of A's transform by reversibility."),
    _says("29", "(29): the equation of B's transform by reversibility."),
    _says("30", "(30): the transform of the whole law."),
    _says("31", "(31): side A's mean wait from the transforms."),
    _says("32", "(32): side B's mean wait from the transforms."),
    _says("33", "(33): the choice-free players' mean wait from the transforms."),
    _says("34", "(34): the mean wait from the transforms."),
    _says("text4", "A few players of the smaller side first help: the mean wait falls, then "
          "rises.", what="'first help'", note="It falls by a tenth of a percent."),
    _ours("text4", "The mean wait at its lowest point.", "the mean wait there"),
    _says("text4", "The mean wait falls below its value with nobody on side A.",
          what="by how much it fell"),
    _says("text4", "The mean wait hardly changes while λA < λB.", what="'hardly changes",
          condition="While λA is well below λB: at .3 against .4 it is 2.5 % longer, at λA = λB "
          "28 %."),
    _says("text4", "The mean wait increases sharply if λA > λB.", what="'increases sharply'"),
    _says("text4", "The larger side dominates the mean wait.", what="'max(a, b) dominates'",
          reading="The paper does not define dominates; we read it as: changes the mean wait more. "
          "The smaller side changes it by a factor of 1.2 to 1.3 in all, the larger one by 5 from "
          ".3 to .45."),
    _ours("text4", "The same, over the larger side.", "the same, over"),
    _says("text4", "The improvement factor says what a player gains by becoming choice-free.",
          what="improvement factor",
          condition="Within one system: it compares choice-free players with the others, and not a "
          "player's wait before and after a change."),
    _ours("text4", "How long side B waits before and after 1 % of the players leave it.",
          "wait of B"),
    _says("text4", "A small portion of choice-free players guarantees short waits.",
          what="'a small portion'",
          key="what",
          condition="If the sides differ by less than that portion, and if several times the wait "
          "of plain duels counts as short: with equal sides it is 50 times that wait at 2 %, and "
          "at .55 and .35 a tenth lets the queue grow for ever."),
    _says("sides2v2", "Two against two with sides is nearly the duel of packages.",
          condition="If all come in pairs, where it is exact: the first tenth of players who come "
          "alone adds 30 to 50 % to the mean wait."),
    _ours("sides2v2", "By how many percent the duel differs from the simulated wait.", "error of"),
    _ours("drift", "Preferences that change over time: sides that close and open again."),
)  # fmt: skip
ZONES = (
    _says("19", "(19): the mean wait of juniors."),
    _says("20", "(20): the mean wait of experts."),
    _says("21", "(21): the mean wait of choice-free experts."),
    _says("22", "(22): the mean wait of all players of two zones."),
    _says("23", "(23): the improvement factor of choice-free experts."),
    _says("24", "(24): the factor with as many juniors as experts."),
    _says("25", "(25): the factor of the first choice-free expert, (1 - λA) / 2."),
    _says("35", "(35): how often a junior waits alone."),
    _says("36", "(36): how often an expert waits alone."),
    _says("37", "(37): how often a junior waits, then an expert."),
    _says("38", "(38): how often an expert waits, then a junior."),
    _says("39", "(39): how often a choice-free expert waits."),
    _says("40", "(40): a junior's wait from the remaining waits, with π2.",
          mended="Right: πB for π2. Zones have no state 2: the junior who comes finds an expert "
          "waiting, and with πB the sum is (19)."),
    _says("41", "(41): the remaining wait of a junior in state A."),
    _says("42", "(42): the remaining wait of a junior in state AB."),
    _says("43", "(43): the remaining wait of a junior in state BA."),
    _says("figure11", "Figure 11: the law of the chain with two zones."),
    _says("figure12", "Figure 12: the improvement factor over the shares."),
    _says("figure13", "Figure 13: the mean wait over the shares."),
    _says("text5", "A crowded junior zone gives experts no incentive to be choice-free.",
          what="'crowded junior zone",
          mended="Right: the fuller the junior zone, the more the first choice-free expert saves, "
          "(1 + λA) / 2 of the wait. This follows from the paper's own (25), and its next "
          "paragraph says so."),
    _says("text5", "The first choice-free expert of equal zones saves 75 %.",
          what="percent that the first choice-free"),
    _says("text5", "They save 90 % if juniors are .8 of all.", what="percent that he saves"),
    _says("text5", "90 % is the maximal benefit.", what="'the maximal benefit'",
          reason="The paper's example stops at juniors of .8; by its own (25) the benefit rises "
          "to 100 % as the other players vanish."),
    _says("text5", "The factor rises as juniors become fewer.",
          what="steps out of 98 in which fewer"),
    _says("text5", "The factor rises as more players are choice-free.",
          what="steps out of 98 in which more"),
    _says("text5", "(25) depends only on shares.", what="most that (25)"),
    _ours("text5", "The mean wait of all as experts become choice-free.", "mean wait of all"),
    _ours("text5", "The mean wait of players who stay experts.", "mean wait of those who stay"),
    _says("text5", "The more choice-free players, the lower the mean wait.",
          what="'the more, the lower'"),
    _says("text5", "The marginal value of choice-free players decreases.",
          what="'marginal value decreases'",
          reason="If only experts become choice-free, each step is worth more than the one before "
          "it, in 99 of 99 steps; if players of both zones do, in 23 of 198. The paper looked at "
          "the improvement factor, whose steps do shrink."),
    _says("text5", "Being choice-free benefits the whole system.", what="'benefits the whole",
          condition="On average over all players: experts who stay experts wait longer at every "
          "step."),
    _says("zones2v2", "Two against two with zones is nearly the duel of packages.",
          condition="If all come in pairs, where it is exact: the first tenth of players who come "
          "alone adds about half to the mean wait, and this does not go away."),
    _ours("zones2v2", "By how many percent the duel differs from the simulated wait.", "error of"),
)  # fmt: skip
SAYINGS = (*K_PLAYERS, *TWO_V_TWO, *LARGER, *SIDES, *ZONES)

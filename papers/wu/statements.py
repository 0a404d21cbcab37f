"""The statements of "Dynamic Matching With Teams"."""

from __future__ import annotations

from papers.statements.saying import PaperStatement

INSIDE = "If 0 < q < 1: with only one skill the chain has 2n pools and costs n - 1/2."


def _says(name: str, says: str, **more: object) -> PaperStatement:
    return PaperStatement(id=f"wu.{name}", says=says, **more)  # type: ignore[arg-type]


def _ours(name: str, says: str, what: str = "") -> PaperStatement:
    return PaperStatement(id=f"wu.{name}", says=says, what=what, is_ours=True)


SAYINGS = (
    _says("imbalance", "The best division of any 2n players has an imbalance of at most 1."),
    _says("even_set", "Of any 2n + 1 players, some 2n can play without imbalance."),
    _says("lemma3.1", "Lemma 3.1: the best policy plays an even match as soon as there is one."),
    _says("coin", "The example of the coin: what is best on average may be best after neither "
          "result."),
    _says("footnote9", "Footnote 9: matches of a single type need no balancing.",
          note="They cost 2n - 1 per period, where patient matching costs n."),
    _says("states", "The patient policy meets 2n (n + 1) pools.", condition=INSIDE),
    _says("lemma3.2", "Lemma 3.2: π(0,1), π(1,0) and π(0,0) are equal.", condition=INSIDE),
    _says("delta", "δ1 + δ2 = 1."),
    _says("theorem3.3", "Theorem 3.3: greedy is the best policy up to a threshold of alpha, "
          "and patient from there on.",
          condition="If 2n + 1 players may wait: if the first 2n must make a match, nobody can be "
          "patient."),
    _says("threshold", "The threshold is 1 / (1 - (2q - 1)^2n)."),
    _says("cap", "Patient matching costs n, however many players may wait."),
    _says("implication1", "Implication 1: patience pays if imbalance is expensive."),
    _says("implication2", "Implication 2: the more unequal the skills' shares, the less patience "
          "pays."),
    _says("implication3", "Implication 3: the larger the teams, the sooner patience pays, if "
          "q ≠ 1/2."),
    _says("abstract", "The abstract: greedy matching is less appealing for larger teams.",
          condition="If q ≠ 1/2, as the body says: at q = 1/2 the threshold is 1 for teams of any "
          "size."),
    _says("patient_cost", "Patient matching costs n per period.", condition=INSIDE),
    _says("pi", "The law of the number of waiting players under the patient policy."),
    _says("greedy_wait", "Greedy matching waits n (2n - 1) per match."),
    _says("greedy_imbalance", "Greedy matching has an imbalance whenever the number of high "
          "players is odd."),
    _says("greedy_cost", "Greedy matching costs n - 1/2 + alpha (1 - (2q - 1)^2n) / 2 per period."),
    _says("units", "In seconds, alpha becomes alpha times the rate over the price of waiting.",
          note="The paper counts periods; the units are ours."),
    _ours("skill", "More than two skills: the best policy, and what simpler ones cost."),
    _ours("least_set", "The best policy takes the most even match whenever it makes one."),
    _ours("pool", "Waiting for a number of players is no substitute for a threshold."),
    _ours("batch", "Matching all players at once when enough wait is no substitute either."),
    _ours("window", "Continuous skill: the best window is about .8 / √alpha wide."),
    _says("ends", "Players of extreme skill wait longer.",
          note="The paper leaves it as an open question."),
)  # fmt: skip

"""The rule that draws again before opponents meet again."""

from __future__ import annotations

from evenmatch.model.queue import RECENT, Expansion, Rule


def redraw_rule(redraws: int, *, every: float, matches: int = 1, attribute: str = RECENT) -> Rule:
    """Return the rule that draws again, so many times, before it lets opponents meet again.

    A ticket is drawn anew every `every` seconds of its wait. Each time, opponents of its last
    `matches` matches are refused; after `redraws` refusals they are taken. So a rematch is allowed
    from `redraws * every` seconds of both tickets' waits on, which is exact, never shrinks with the
    wait, and leaves nobody without a match where the same two people are all there is.

    Args:
        redraws: How often, >= 1.
        every: Seconds between two draws; the policy's own clock where it has one.
        matches: How many of a player's last matches count.
        attribute: The name of what players remember.

    Source:
        GameDev.net, "1v1 queuing" (2010): "force a redraw (or a few) if you match up players who
        played against each other in the last X matches".
    """
    allowed = ((redraws * every, 1.0),)
    return Rule("rematch", attribute, expand=Expansion(steps=allowed), matches=matches)

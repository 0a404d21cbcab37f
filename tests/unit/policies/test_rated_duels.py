"""What the policies that compare ratings take from a queue's rules."""

from evenmatch.policies.shared.rated_duels import rating_limits
from evenmatch.testing import queue, rule


def test_only_limits_that_both_must_accept_are_asked_without_the_tickets() -> None:
    widening = rule(limit=100, rate=2.0)
    either = rule(limit=10, rate=1.0, accept="either")
    shared = rule(limit=0.1, unit="relative")

    (when,) = rating_limits(queue(rules=(either, widening, shared, rule("wins", 5))))

    assert when(150.0) == 25.0

"""Your own policy in five lines; it runs by its dotted name, `my_policies.neighbours`."""

from evenmatch import policy
from evenmatch.model.ticket import attribute_of


def rating(ticket):
    return attribute_of(ticket, ticket.players[0], "rating")


@policy(every=2.0)
def neighbours(pool, now, limit=100.0, rate=1.0):
    ranked = sorted(pool, key=rating)
    pairs = zip(ranked[::2], ranked[1::2], strict=False)
    return [(a, b) for a, b in pairs if rating(b) - rating(a) <= limit + rate * waited(a, b, now)]


def waited(a, b, now):
    return now - max(a.enqueued_at, b.enqueued_at)

"""A bot that plays on any server: python bot.py http://127.0.0.1:8080 ada."""

import sys

from evenmatch import Client, Player, Rating, ServerRefused
from evenmatch.wire.tickets import CreateTicket


def play(url, name, rating=1500.0, token=None):
    with Client(url, token=token) as client:
        ticket = client.create(CreateTicket((Player(name, Rating(rating)),)))
        yield f"{name} waits as {ticket.id}"
        for now in client.events(ticket.id):  # comes back by itself after a lost connection
            if now.state == "proposed" and not now.accepted:
                if accept(client, now.match, ticket.id):
                    yield f"{name} accepts {now.match}"
            elif now.state == "assigned":
                return (yield f"{name} plays at {now.assignment['connection']}")
            elif now.state in ("cancelled", "expired"):
                return (yield f"{name} goes home: {now.reason}")


def accept(client, match, ticket):
    try:
        client.accept(match, ticket)
    except ServerRefused as refusal:
        if refusal.code != "proposal_over":  # somebody else declined first: it goes on waiting
            raise
        return False
    return True


if __name__ == "__main__":
    for line in play(*sys.argv[1:3]):
        print(line, flush=True)

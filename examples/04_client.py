"""Two players and a game's backend, as clients of a real server that keeps a journal."""

import subprocess
import sys
import tempfile
from pathlib import Path

from evenmatch import Player, Rating
from evenmatch.client.client import Client, ServerRefused
from evenmatch.wire.tickets import CreateTicket

CONFIG = Path(__file__).parent.parent / "scenarios" / "duel.toml"


def play(url):
    with Client(url) as client:
        ada = client.create(CreateTicket((Player("ada", Rating(1500.0)),)), key="ada-1")
        print("ada:", ada.id, ada.state)

        # The answer got lost? The same key gives it again, and no second ticket.
        print(
            "again:", client.create(CreateTicket((Player("ada", Rating(1500.0)),)), key="ada-1").id
        )

        # 160 points apart: both limits reach that five seconds after bob's arrival.
        bob = client.create(CreateTicket((Player("bob", Rating(1660.0)),)))
        print("bob:", bob.id, bob.state)
        seen = client.get(bob.id, wait=20.0)
        print("bob:", seen.state, f"after {seen.wait:.0f} s in", seen.match)

        try:
            client.cancel(ada.id)
        except ServerRefused as refusal:
            print("cancel:", refusal.code, refusal.match)

        # The backend's feed: every match at least once; `next` is all that it has to remember.
        page = client.page("duel", after=0)
        for match in page.matches:
            print("feed:", match.match, match.players, f"quality {match.quality:.3f}")


with tempfile.TemporaryDirectory() as data:
    command = [sys.executable, "-m", "evenmatch.cli.main", "serve", str(CONFIG)]
    server = subprocess.Popen(
        [*command, "--port", "0", "--data", data],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with server:
        try:
            play(server.stdout.readline().split()[-1])
        finally:
            server.terminate()

"""Two bots meet: a server with a ready-check, and a backend that says where they play."""

import subprocess
import sys
import tempfile
from pathlib import Path

from evenmatch import Client

BOT = Path(__file__).with_name("bot.py")
CONFIG = """
[[queue]]
name = "duel"
teams = 2
players = 1
policy = "greedy"
accept = {seconds = 15.0}
"""


def start(*command):
    pipe, quiet = subprocess.PIPE, subprocess.DEVNULL
    return subprocess.Popen([sys.executable, *command], stdout=pipe, stderr=quiet, text=True)


with tempfile.TemporaryDirectory() as folder:
    config = Path(folder, "duel.toml")
    config.write_text(CONFIG)
    with start("-m", "evenmatch.cli.main", "serve", str(config), "--port", "0") as server:
        try:
            url = server.stdout.readline().split()[-1]
            with start(BOT, url, "ada") as ada:
                first = ada.stdout.readline()  # bob comes after ada
                with start(BOT, url, "bob") as bob, Client(url) as backend:
                    match = next(backend.matches("duel"))
                    backend.assign(match.match, {"connection": "10.0.0.1:7777"})
                    print(first + ada.stdout.read() + bob.stdout.read(), end="")
        finally:
            server.terminate()

"""The server that is put under load: everything that it can do is in use."""

from __future__ import annotations

CONFIG = """
[[queue]]
name = "duel"
teams = 2
players = 1
wait_max = 60.0
policy = "window"
shadow = "greedy"
silent_after = 20.0
rating = "glicko2"
accept = {seconds = 6.0, loss_max = 0.1, cooldowns = [1, 2, 5], repair = 5.0, again = 5.0}
[[queue.criteria]]
kind = "spread"
attribute = "rating"
scale = {kind = "linear", min = 0.0, max = 3000.0}
[[queue.rules]]
kind = "spread"
attribute = "rating"
limit = 150.0
expand = {rate = 10.0, max = 600.0}

[[queue]]
name = "squad"
teams = 2
players = 5
party_sizes = [1, 2, 3]
policy = "greedy"
wait_max = 60.0
silent_after = 20.0
rating = "elo"
ladder = "squad"
backfill = "manual"
accept = {seconds = 6.0, loss_max = 0.1, cooldowns = [1, 2, 5], repair = 5.0, again = 5.0}
[[queue.criteria]]
kind = "imbalance"
attribute = "rating"
scale = {kind = "capped", max = 500.0}
[[queue.criteria]]
kind = "spread"
attribute = "rating"
scale = {kind = "linear", min = 0.0, max = 3000.0}

[server]
guests = true
log_tickets = false

[server.limits]
followers_max = 5000
key_requests_max = 100000
key_burst_max = 200000
player_requests_max = 100
guests_max = 100000
"""
QUEUES = ("duel", "squad")

"""Criteria and rules for whole columns of tickets, so that one pass compares one with all.

Policies, backfill and repairs use columns first, and `criteria.rules` for the tickets that are
left. A column gives lower bounds on the instants and costs of `kinds`; tests compare the two. May
import `criteria` and its kinds. Never imports a policy or the engine, which use it.
"""

"""Criteria and rules for whole columns of tickets, so that one pass compares one with all.

Policies, backfill and repairs ask columns first, and `criteria.rules` about whoever is left. What a
column says is a lower bound on the time and the cost that `kinds` give; tests hold it to that. May
import `criteria` and its kinds. Never imports a policy or the engine, which use it.
"""

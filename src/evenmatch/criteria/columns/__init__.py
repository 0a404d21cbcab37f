"""Criteria and rules for whole columns of tickets, so that one pass compares one with all.

What they say is a lower bound on the time and the cost that `kinds` give, which tests hold them to.
"""

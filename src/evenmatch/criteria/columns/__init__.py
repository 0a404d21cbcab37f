"""Criteria and rules for whole columns of tickets, so that one pass compares one with all.

Never later and never dearer than the references in `kinds`, which tests hold them to.
"""

"""Requests and answers: one module a group of routes, `app` in front of them.

A handler asks the runtime or a view, and knows neither the journal nor a policy.
"""

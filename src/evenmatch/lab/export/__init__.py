"""From a server's journal to a trace that `simulate` plays, with names or without.

Reads a journal and folds it. May import `journals` and `engine.state`; never opens a journal for
writing, and never runs the engine.
"""

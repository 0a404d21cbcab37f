"""Requirements on a queue, whoever made it: a TOML file, a journal or a program.

`criteria.rules` checks matches, not this package. Others call `queue.check_queue`. Every refusal is
one sentence with the value and what is allowed. May import `criteria` and `model`; never the
configuration, which turns these sentences into its own.
"""

"""A game server for each match: a webhook or Agones is asked, again and again until it answers.

It hears of matches when they are durable, and hands the answers in as inputs. May import
`server.runtime` and `wire`; never decides who plays.
"""

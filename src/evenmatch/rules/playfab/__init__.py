"""Queues of PlayFab Matchmaking: from a JSON text to typed values, and to conditions on matches.

`reader` is the entry point: it takes a text in any of the forms in use and returns
`queue.PlayFabQueue`s, with a finding for each error or oddity. `rule_reader` reads rules and
`expansion_reader` their expansions; `compile` turns a queue into conditions with exactly the same
meaning.

Imports `model`, `criteria`, msgspec and what lies in `rules`; never the engine, and uses no clock,
no random numbers and no files.
"""

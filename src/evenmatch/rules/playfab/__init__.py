"""Queues of PlayFab Matchmaking: from a JSON text to typed values, and to what matches must be.

`reader` is the entry point: it takes a text in any of the forms in use and gives
`queue.PlayFabQueue`s, with a finding for whatever is wrong or odd. `rule_reader` reads rules and
`expansion_reader` their expansions; `compile` turns a queue into conditions, which say exactly the
same.

Imports `model`, `criteria`, msgspec and what lies in `rules`; never the engine, and has no clock,
no chance and no files.
"""

"""Rules that were written for other matchmakers, read as they are.

Each language has a package of its own: `flexmatch` reads AWS FlexMatch rule sets, `playfab` reads
queues of PlayFab Matchmaking. `languages` recognises the language of a text and compiles it for a
queue. Shared code is here: `json_text` reads JSON as people write it, `fields` reads the keys of
its objects, `findings` collects errors and oddities. May import `model`, `criteria` and msgspec;
never a policy, the engine or a server.
"""

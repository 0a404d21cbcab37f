"""Rules that were written for other matchmakers, read as they are.

Each language has a package of its own: `flexmatch` reads AWS FlexMatch rule sets, `playfab` reads
queues of PlayFab Matchmaking. `languages` tells in which of them a text is written, and what it
means for a queue. What both need lies here: `json_text` reads JSON as people write it, `fields`
asks for the keys of its objects, `findings` holds what is wrong or odd. May import `model`,
`criteria` and msgspec; never a policy, the engine or a server.
"""

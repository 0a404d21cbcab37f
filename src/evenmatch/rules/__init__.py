"""Rules that were written for other matchmakers, read as they are.

Each language has a package of its own: `flexmatch` reads AWS FlexMatch rule sets. May import
`model`, `criteria`, `solvers` and msgspec; never a policy, the engine or a server.
"""

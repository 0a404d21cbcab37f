"""How many players a game needs, or how long those that it has will wait.

Theory where it holds (`pool_theory`), a simulation where it ends (`pool_simulation`). May import
`theory`, `lab.study` and the simulator; never a journal: it advises before there is a server.
"""

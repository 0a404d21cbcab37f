"""The demo: a real server, players who connect over HTTP, and a check of every ticket at the end.

`evenmatch demo` runs it. `world` says who arrives, `players` how they answer, `run` drives them,
`ledger` compares what the server told them with what they asked for, and `view` shows it.

May import the simulator's arrivals, `lab`, the client and the configuration. Never imports the
server: the demo knows it over HTTP only.
"""

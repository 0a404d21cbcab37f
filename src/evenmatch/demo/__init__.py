"""The demo: a real server, players who connect over HTTP, and a check of every ticket at the end.

`evenmatch demo` runs it. `world` says who arrives, `players` how they answer, `run` drives them,
`ledger` holds what the server told them against what they asked for, `view` shows it. It may import
the simulator's arrivals, the client and the configuration; of the server it knows only HTTP.
"""

"""The durable server: the shards of one game or several, and HTTP around them.

A server alone runs each game as one shard. Nodes of a `cluster` share a game out: there a shard is
a group of its queues, or those that a ladder joins, or a part of a group that is split.

`runtime` moves records and time, `http` answers requests, `views` fold durable records into what
people see, `operations` change a running server, `auth` says who may do what, and `allocation`
finds places to play. `gamelift` answers the clients of Amazon GameLift, `dashboard` is the page for
people, and `api_page` the page that shows the interface.

May import everything below it but `simulation`, `theory` and `lab`. Never imports a client or the
command line.
"""

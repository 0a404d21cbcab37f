"""The durable server: the shards of one game or several, and HTTP around them.

A server alone runs each game as one shard. The nodes of a `cluster` divide a game into shards: a
shard is a group of queues, all groups whose queues share a ladder, or one part of a split group.

`runtime` moves records and time, `http` answers requests, `views` fold durable records into what
people see, `operations` change a running server, `auth` says who may do what, and `allocation`
finds places to play. `gamelift` answers the clients of Amazon GameLift, `dashboard` is the page for
operators, and `api_page` shows the HTTP interface.

May import everything below it but `simulation`, `theory` and `lab`. Never imports a client or the
command line.
"""

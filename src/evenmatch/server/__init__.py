"""The durable server: one shard for each game, and HTTP around it.

`runtime` moves records and time, `http` answers requests, `views` fold durable records into what
people see, `operations` change a running server, `auth` says who may do what, `allocation` finds
places to play, and `dashboard` is the page for people.

May import everything below it but `simulation`, `theory` and `lab`. Never imports a client or the
command line.
"""

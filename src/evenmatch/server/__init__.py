"""The durable server around one shard for each game.

`runtime` moves records and time, `http` answers requests, `views` fold durable records into what
people see, `operations` change a running server. Never imports the simulator or the lab.
"""

"""The port through which records become durable, and its adapters.

`base` is the port, and `opening` chooses an adapter by an address: `sqlite`, `postgres`, `nats`, or
`memory` for tests. `store` is a second port, to what a game keeps beside its journal: keys,
configurations, the audit log. `backup` copies a journal while a server writes to it, `copying`
makes a file of one on a server, and `restoring` brings a file to a server. `reading` reads without
a lease.

May do I/O. Of the engine it imports `engine.records` alone; it never knows what a record means.
"""

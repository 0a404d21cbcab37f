"""The port through which records become durable, and its adapters.

`base` is the port, and `opening` chooses an adapter by an address: `sqlite`, `postgres` or `nats`.
A server without an address uses `sqlite` in its data directory, or `memory` if it has none.
`store` is a second port, to what a game keeps beside its journal: keys, configurations, the audit
log. `backup` copies a journal while a server writes to it, `copying` copies a journal on a server
into a file, and `restoring` brings a file to a server. `reading` reads a file without a lease.

A new adapter is a module here that implements `base.Journal` with the checks of `head`, and its
address in `opening`. If it is on a server, it also has a `store.Store`, and `copying` and
`restoring` get a branch for it. `check_journal` and `check_store` prove both, in
`tests/conformance`.

May do I/O. Of the engine it imports `engine.records` alone; it never knows what a record means.
"""

"""The port through which records become durable, and its adapters.

`base` is the port, and `opening` chooses an adapter by an address: `sqlite`, `postgres` or `nats`.
A server without an address uses `sqlite` in its data directory, or `memory` if it has none. `store`
is a second port, to what a game keeps beside its journal: keys, configurations, the audit log.
`backup` copies a journal while a server writes to it, `copying` copies a journal on a server into a
file, and `restoring` brings a file to a server. `reading` reads a file without a lease.

A new adapter is a module here that implements `base.Journal` with the checks of `head`, and its
address in `opening`. An adapter for a database server also needs a `store.Store`, a branch in
`copying` and in `restoring`, its driver as an extra of the package and in the table of
`tests/test_architecture.py`, and its address in the help texts of `cli`. `check_journal` and
`check_store` prove both ports, in `tests/conformance`.

May do I/O. Of the engine it imports `engine.records` alone; it never knows what a record means.
"""

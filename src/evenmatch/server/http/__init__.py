"""Requests and answers: a row for each operation, and a module for each group of handlers.

`table` gives each operation's path, right, types and handler, and lists what a new route needs,
among it a line in `server.cluster.router`; `app` stands in front of the handlers. Only
`create_tickets` answers before any route, since most requests are creates. A handler asks the
runtime or a view; an `InputRoute` hands one input in, and those about matches are in
`match_inputs`. Creates and such inputs come past ASGI where they can: `direct_requests` takes them
from the parser. Handlers of accounts, allocations and the dashboard are in the module `routes` of
their own package; all have their row in `table`. May import all of the server; never touches the
journal, and knows no policy.
"""

"""The page that shows the queues, and what it shows.

`figures` and `queue_figures` fold durable records, `waiting_summary` counts who waits, `live` sends
a snapshot a second to each viewer, and `messages` are the types that go over the stream. The page
itself is in `static`. May import `server.views` and what `server.http` offers for answers. Never
reads the journal: it hears of records as views do.
"""

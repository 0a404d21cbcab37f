"""The page that shows the queues, and what it shows.

`figures` and `queue_figures` fold durable records, `waiting_summary` counts who waits, `live` sends
a snapshot a second to each viewer, and `messages` are the types that go over the stream. The page
itself is in `static`. May import `server.views` and what `server.http` offers for answers. It hears
of records as views do, starts from the tables that recovery left, and asks the runtime how late the
event loop is. Never reads the journal, and changes nothing.
"""

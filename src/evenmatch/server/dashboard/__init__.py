"""The page that shows the queues, and what it shows.

`figures` and `queue_figures` fold durable records, `waiting_summary` counts who waits, `live` sends
a snapshot a second to each viewer, and `messages` are the types that go over the stream. The page
itself is in `static`. It hears of records through `engine.lifecycle`, as views do, starts from the
tables that recovery left, and asks the runtime for its clock, readiness, lag and timings, and the
live engine for what is wrong with a queue. May import all of the server. Never reads the journal,
and changes nothing; the page's buttons call the operators' routes.
"""

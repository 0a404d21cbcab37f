"""The dashboard: a page that shows the queues, and the figures behind it.

`figures` and `queue_figures` fold durable records, `waiting_summary` counts who waits, `live` sends
a snapshot a second to each viewer, and `messages` are the types that go over the stream. The page
itself is in `static`.

Durable records come through `server.views.backlog` and `engine.lifecycle`, as to other views. After
a restart the figures start from the recovered tables. The runtime gives clock, readiness, lag and
timings. `server.views.stalled_queues` tells which queues stand still, and the engine tells which
have failed. How a match came about is kept in memory, for the last matches only. The page also
calls other routes: those of tickets and explanations, and those of operators for its buttons. May
import all of the server. Never reads the journal, and changes nothing.
"""

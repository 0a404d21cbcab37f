"""Who calls, what they may do, and what is written down about it.

Every request passes `authenticate` (who is it?) and then `authorize` (may they?). Rights by route
stand in `server.http.table`. May import `server.runtime` and `wire`, to ask whose a ticket is;
never changes anything in the engine.
"""

"""Authentication, authorization and the audit log: who calls, what they may do, what they did.

Every request passes `authenticate` (who is it?) and then `authorize` (may they?). The rights of
each route are in `server.http.table`.

May import `config.server`, the store beside a journal, `model` and `wire`; the engine and its
tables, to ask whose a ticket is; of the server `runtime`, and of `http` and `gamelift` what reads
requests and refuses them. Never changes anything in the engine.
"""

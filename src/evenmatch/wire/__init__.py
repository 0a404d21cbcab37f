"""What goes over HTTP: request and response types, and how a bad body is explained.

Clients and the server both build on it; `http1` is the one HTTP/1.1 connection that clients and
webhooks use. May import `model` and h11; never the engine, the client or the server.
"""

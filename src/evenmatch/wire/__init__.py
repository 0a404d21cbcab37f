"""What goes over HTTP: request and response types, and how a bad body is explained.

May import model. Clients and the server both build on it.
"""

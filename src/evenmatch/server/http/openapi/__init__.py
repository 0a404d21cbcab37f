"""The OpenAPI document, made from rows of `server.http.table` and the types of `wire`.

May import `wire`, rows and answers of `server.http`, the types that other packages of the server
answer with, and, for the schema of a configuration, `model.queue` and the kinds in
`criteria.registry`. Never lists a route by itself, so that none can be missing from it.
"""

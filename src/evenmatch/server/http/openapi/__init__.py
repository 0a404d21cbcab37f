"""The OpenAPI document, made from the rows of `server.http.table` and the types of `wire`.

May import `wire` and the types of answers. Never lists a route by itself, so that none can be
missing from it.
"""

"""The page `/docs`: a browsable view of the OpenAPI document.

Static files and the route that serves them. May import `server.http.pages`; never talks to the
runtime.
"""

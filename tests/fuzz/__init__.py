"""Requests made from the OpenAPI document, and what must hold of every answer."""

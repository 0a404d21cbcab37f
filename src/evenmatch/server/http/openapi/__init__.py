"""The OpenAPI document, made from the types of `wire` and the routes."""

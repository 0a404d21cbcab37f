"""The page `/docs`: a browsable view of the OpenAPI document."""

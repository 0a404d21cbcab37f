"""The dashboard: figures folded from durable records, how the server does, and the page."""

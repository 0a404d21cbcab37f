"""The dashboard: figures folded from durable records, and the page that shows them."""

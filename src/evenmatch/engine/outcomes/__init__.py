"""Results of played matches: which of them count, and when they change ratings."""

"""Who is near: an age tree on a line, and sweep-and-prune over several axes."""

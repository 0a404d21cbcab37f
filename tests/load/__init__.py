"""A real server under load for as long as one likes, and what became of every ticket."""

"""Data that we ship: a recorded trace and the fitted world, each with its notice."""

"""Attacks on a real server, and what becomes of them: `make attack`."""

"""Data that we ship, each with its notice: a recorded trace and the fitted world.

Files only: no code lives here, so there is nothing to import, and nothing is downloaded.
"""

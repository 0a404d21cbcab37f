"""The fit of the world model that ships as `evenmatch/data/world.json`.

It reads measured files of matches by hour, cities and round trips. It may import all of evenmatch.
"""

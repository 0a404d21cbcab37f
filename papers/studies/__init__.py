"""Studies outside the papers: policies on streams of parties, forecasts of rating systems.

    python -m papers.studies.streams scenarios/world_3v3.toml --seeds 201:211

It may import all of evenmatch, and nothing else from `papers`.
"""

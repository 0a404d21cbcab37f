"""Tools for work on evenmatch: generators of its data, and measures of its source.

Generators of shipped files (the fitted world, the batch of an evening) and analyses of the source
are here. Each tool is run from a checkout: `python -m tools.NAME`. A tool may import all of
evenmatch and papers; only tests import tools, and the wheel contains none.
"""

"""Tools of those who work on evenmatch: generators of its data, and measures of its source.

What makes a file that ships (the fitted world, the batch of an evening) and what looks at the
source itself lives here. Each tool is run from a checkout: `python -m tools.NAME`. A tool may
import all of evenmatch and papers; nothing but tests imports a tool, and the wheel has none.
"""

"""Rating systems, one per module: from ratings and the outcomes of one period to new ratings.

`rate` is public, `registry` has the names, `periods` rates what a server has stored. May import
`model` and numpy. Never imports the engine, and keeps no state between periods.
"""

"""Rating systems, one a module: ratings and the outcomes of one period in, ratings out.

`rate` is public, `registry` knows the names, `periods` rates what a server has stored. May import
`model` and numpy. Never imports the engine, and keeps nothing between periods.
"""

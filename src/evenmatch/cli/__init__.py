"""The command `evenmatch`: one module a subcommand, loaded only when it is called.

Nothing imports this package. It may import everything, and prints everything: other packages
return values.
"""

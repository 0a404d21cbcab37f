"""Results of played matches: which of them count, and when they change ratings.

May import `engine.matching` and `engine.state`. Never imports a rating system: the function that
rates comes from outside.
"""

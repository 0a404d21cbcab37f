"""How good a match is, and whether it is allowed: criteria, rules, and the objective of both.

`kinds` holds one module for each kind of criterion and rule; `columns` tells the same of whole
columns of tickets; `objective` adds everything up. May import model and numpy; pure.
"""

"""Combinatorial algorithms on arrays; they know nothing of tickets.

`matching` pairs points at the least cost, `teams` divides batches into team matches, `duels` pairs
whole pools one against one, `bounds` proves how good matches can be, `service_orders` chooses the
parties that fill teams, `steps` holds policies as kernels, `index` finds near neighbours, and
`kernel` compiles.

May import numpy, numba and highspy. Imports nothing from evenmatch except `errors`.
"""

"""Combinatorial algorithms on arrays; they know nothing of tickets.

`matching` pairs points with prices, `teams` divides batches into team matches, `duels` pairs whole
pools, `bounds` proves how good matches can be, `service_orders` says which parties fill teams,
`steps` are policies as kernels, `index` finds who is near, and `kernel` compiles.

May import numpy, numba and highspy. Never imports anything of ours but errors.
"""

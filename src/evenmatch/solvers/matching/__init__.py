"""The cheapest way to pair points, with the prices that prove it.

A blossom algorithm in kernels. May import `solvers.kernel`; never knows what a point stands for.
"""

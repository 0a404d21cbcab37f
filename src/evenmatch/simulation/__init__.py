"""The engine in virtual time, over drawn or recorded arrivals.

May import everything below it; never the server, a clock or a network.
"""

"""The engine in virtual time, over drawn or recorded arrivals.

`simulator` drives the engine from input to input, `arrivals` and `world` say who comes, `compiled`
makes the same matches faster where only arrivals and deadlines happen, and `metrics` adds up. May
import everything below it; never the server, a clock or a network.
"""

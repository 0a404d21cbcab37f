"""The least that a run could have cost, all arrivals known: optima, bounds and floors."""

"""The cheapest way to pair points, with the prices that prove it."""

"""How good a batch's matches can be at most: prices, column generation, set packing."""

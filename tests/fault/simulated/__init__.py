"""The server on a virtual network, clock and store that fail: one seed, one run, one trace."""

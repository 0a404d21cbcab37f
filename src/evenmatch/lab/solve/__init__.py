"""`evenmatch.solve`: a batch of parties divided into matches, and a bound on their quality.

Reads a batch from a file, searches within a budget, and proves a bound. May import `config` and the
engine's admission, through which a batch is read as a server would read it, `model`, `criteria`,
the solvers and the batches of `policies.shared`; never the simulator.
"""

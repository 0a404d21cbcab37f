"""`evenmatch.solve`: a batch of parties divided into matches, and how good that is at most."""

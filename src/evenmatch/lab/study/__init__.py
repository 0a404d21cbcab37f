"""Many runs: seeds, sweeps, confidence, and whether estimates held."""

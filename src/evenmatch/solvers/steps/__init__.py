"""Policies as kernels: what an arrival, a departure and a decision do, and a loop over a whole run.

The matcher in the engine (`policies.shared.step_matcher`) and compiled runs call the same steps, so
they cannot differ. Each module belongs to the policy of the same name in `policies`; a policy
without a kernel has no module here. May import `solvers.matching`; never another solver.
"""

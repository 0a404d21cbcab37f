"""Policies as kernels: what one newcomer, one leave and one decision do, and the run of all.

The matcher in the engine (`policies.shared.step_matcher`) and compiled runs call the same steps, so
they cannot differ. A policy's module of the same name is in `policies`; a policy without a kernel
needs no module here. May import `solvers.matching`; never another solver.
"""

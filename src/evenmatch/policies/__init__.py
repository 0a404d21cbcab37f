"""Policies, one a module: frozen parameters, and the matcher that decides who plays.

A new policy is a module here and a line in `registry`; one that needs compiled searches is also
listed in `registry.NEED_KERNELS`. Its docstring has a section "When to use" for the reference, and
`tests/conformance/test_policies.py` gets a SPEC. A policy with compiled steps has a module of the
same name in `solvers.steps`, a number in `solvers.steps.policy_numbers`, and its calls in
`solvers.steps.play`.

`base` is the contract, `hooks` lists what a policy may say beside its matches, and `registry` knows
the names of those that come with evenmatch (a policy of your own goes by its dotted path). `shared`
is what several policies are built from.

May import `model`, `criteria` and `solvers`. Never imports the engine, which calls it; uses no
clock and no files, and no random numbers except from a given seed.
"""

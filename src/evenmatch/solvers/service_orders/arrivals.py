"""A compiled run of a service order: parties arrive one by one; matches are made at once."""

from __future__ import annotations

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.service_orders.lines import Floats, Ints, Lines, add_party
from evenmatch.solvers.service_orders.packs import ServicePlan, serve


@kernel(
    "int64(Lines, Lines, ServicePlan, int64[::1], int64[::1], int64[::1], float64[::1])",
    allocates=False,
)
def play_parties(
    parties: Lines,
    packs: Lines,
    plan: ServicePlan,
    kinds: Ints,
    out: Ints,
    match_of: Ints,
    at: Floats,
) -> int:
    """Run arrivals through a queue without deadlines; return how many matches they make.

    Args:
        parties: Lines with a slot for each arrival; its instant is the age, ascending, and its
            index the sequence.
        packs: As many slots with packing, else any number.
        plan: As for `serve`.
        kinds: Kind of each arrival.
        out: Room for one match.
        match_of: Filled with the index of each arrival's match; others stay as they are.
        at: Filled with the instant of each match.

    Complexity:
        That of `serve` for each arrival and each match.
    """
    ages = parties.ages
    made = 0
    for row in range(len(kinds)):
        add_party(parties, row, kinds[row])
        count = serve(parties, packs, plan, out)
        while count > 0:
            for place in range(count):
                match_of[out[place]] = made
            at[made] = ages[row]
            made += 1
            count = serve(parties, packs, plan, out)
    return made

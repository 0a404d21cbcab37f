"""What each record format can say."""

from typing import get_args

import pytest

from evenmatch.engine.records import FORMAT, GROWN, Record, needs
from evenmatch.model.condition import AllOf, Condition, TeamProperty, ValueTest
from evenmatch.model.inputs import Advance, Configure, Input, Open, Register, Skip
from evenmatch.model.queue import Criterion, Queue, Rule, Sort
from tests.golden.journals.older_reader import kinds_of, unknown_in

SIZES = TeamProperty(teams=(0,), is_grouped=False, what="party_sizes")
LACKING = TeamProperty(
    teams=(0,), is_grouped=False, what="attribute", attribute="a", is_optional=True
)


def configured(*tests: TeamProperty, clock: str = "newest") -> Configure:
    """Return a configuration with a condition over what is measured."""
    parts = tuple(ValueTest(measured=(each,), operator="=") for each in tests)
    condition = Condition("same", AllOf(parts), clock)  # type: ignore[arg-type]
    return Configure(0.0, (Queue("duel", rules=(Rule("condition", condition=condition),)),))


@pytest.mark.parametrize(
    ("given", "number"),
    [
        (Advance(1.0), 1),
        (Configure(0.0, (Queue("duel"),)), 1),
        (Skip(0.0, 9.0), 3),
        (Open(0.0, "s0-m1", 0), 1),
        (Open(0.0, "s0-m1", 0, ticket="x"), 4),
        (Open(0.0, "s0-m1", 0, steps=((1.0, "high"),)), 4),
        (Register(0.0, "duel", ((), ())), 4),
        (configured(TeamProperty(teams=(0,), is_grouped=False, what="players")), 1),
        (configured(SIZES), 4),
        (configured(LACKING), 4),
        (configured(clock="each"), 4),
        (
            Configure(0.0, (Queue("duel", criteria=(Criterion("x", sort=Sort("near")),)),)),
            4,
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, int) else type(value).__name__,
)
def test_input_needs_the_format_that_brought_what_it_says(given: Input, number: int) -> None:
    assert needs(given) == number <= FORMAT


def test_every_kind_and_field_that_an_older_format_lacks_is_looked_at() -> None:
    known = kinds_of(3)["inputs"]
    for kind in get_args(Input):
        fields = set(kind.__struct_encode_fields__) - set(known.get(kind.__struct_config__.tag, ()))
        assert not fields or kind in GROWN, f"{kind.__name__} has {sorted(fields)} since"


def test_older_reader_understands_what_needs_no_newer_format_and_nothing_else() -> None:
    for given in (Advance(1.0), Skip(0.0, 9.0), Open(0.0, "s0-m1", 0)):
        assert unknown_in(Record(1, given, ()), 3) == []
    assert unknown_in(Record(1, Register(0.0, "duel", ((), ())), ()), 3) == ["register"]
    assert unknown_in(Record(1, Open(0.0, "s0-m1", 0, ticket="x"), ()), 3) == ["open.ticket"]

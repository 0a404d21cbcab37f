"""Why matches of one record failed, each for itself."""

from evenmatch.engine.records import Record
from evenmatch.model.events import Cancelled
from evenmatch.model.inputs import Advance
from evenmatch.server.gamelift.events import _reasons_in


def test_each_match_of_a_record_has_its_own_reasons() -> None:
    events = (
        Cancelled("s0-1", "silent", "s0-m1"),
        Cancelled("s0-2", "silent", "s0-m1"),
        Cancelled("s0-3", "declined", "s0-m2"),
        Cancelled("s0-4", "player", None),
    )
    assert _reasons_in(Record(1, Advance(1.0), events)) == {
        "s0-m1": {"silent"},
        "s0-m2": {"declined"},
    }

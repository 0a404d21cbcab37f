"""Ids of exported tickets where callers use the same one again and again."""

from evenmatch.lab.export.export import ExportedTicket, Trace, _own_id
from evenmatch.model.ticket import NewTicket, Player


class Counted(dict[str, ExportedTicket]):
    """Tickets by id; it counts how often somebody asks for one."""

    asked = 0

    def __contains__(self, key: object) -> bool:
        self.asked += 1
        return super().__contains__(key)


def test_id_of_a_thousand_tickets_is_not_searched_from_the_beginning_each_time() -> None:
    arrived = Counted()
    trace = Trace(arrived=arrived)
    for number in range(1_000):
        name = _own_id("ann", trace, ())
        new = NewTicket((Player("ann"),), ("duel",))
        arrived[name] = ExportedTicket(name, float(number), new)
    assert len(arrived) == 1_000
    assert list(arrived)[:3] == ["ann", "ann~2", "ann~3"]
    assert arrived.asked <= 3 * len(arrived)
    assert trace.renamed == {"ann": "ann~1000"}

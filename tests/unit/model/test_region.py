"""The region of a party, as forecasts and the dashboard tell it."""

from evenmatch.model.queue import Criterion, Queue, Rule
from evenmatch.model.region import latency_attribute, region_of
from evenmatch.model.ticket import NewTicket, Player


def test_region_is_the_named_one_or_the_best_for_the_party() -> None:
    near = Player("a", attributes={"latency": {"eu": 20.0, "us": 90.0}})
    far = Player("b", attributes={"latency": {"us": 30.0, "eu": 110.0, "sa": 10.0}})
    assert region_of(NewTicket((near,)), "latency") == "eu"
    assert region_of(NewTicket((near, far)), "latency") == "us"
    assert region_of(NewTicket((near,), attributes={"region": "oce"}), "latency") == "oce"
    assert region_of(NewTicket((Player("p"),)), "latency") == ""
    compared = Queue(criteria=(Criterion("latency", "ping"),))
    assert latency_attribute(compared) == "ping"
    assert latency_attribute(Queue(rules=(Rule("latency", "rtt"),))) == "rtt"
    assert latency_attribute(Queue()) == "latency"

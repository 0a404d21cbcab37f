"""The dashboard of a game whose groups and parts are shards: every queue can be chosen."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.browsing import Visit, browsing
from tests.integration.test_cluster import answered, cluster
from tests.integration.test_serve_journal import address as address
from tests.waiting import wait_until

pytestmark = pytest.mark.browser
CONFIG = """
[[queue]]
name = "duel"
policy = "window:limit=1"
split = "bands:rating:1000,2000"

[[queue]]
name = "casual"
group = "casual"
policy = "window:limit=1"
"""


@pytest.mark.parametrize("address", ["nats"], indirect=True)
def test_queues_of_all_shards_and_their_parts_can_be_chosen(tmp_path: Path, address: str) -> None:
    # The browser comes last: its event loop would be in the way of the journal's.
    with cluster(tmp_path, address, "a", config=CONFIG) as nodes, browsing() as browser:
        node = nodes.nodes["a"]
        wait_until(lambda: node.call("GET", "/v1/queues").status == 200, "all shards answer")
        for number, (queue, rating) in enumerate(
            [("duel", 500.0), ("duel", 2500.0), ("duel", 2600.0), ("casual", 1500.0)]
        ):
            players = [{"id": f"p{number}", "rating": {"mean": rating}}]
            body = {"queues": [queue], "players": players}
            reply, _ = answered(node, "POST", "/v1/tickets", body)
            assert reply.status == 201, reply.body
        (duel, casual) = node.call("GET", "/v1/queues").body
        assert (duel["name"], duel["waiting"], duel["parts"]) == ("duel", 3, 3)
        assert (casual["name"], casual["waiting"]) == ("casual", 1)
        assert "parts" not in casual

        seen = Visit(browser, node.url).open()
        choices = seen.page.locator("#queue option")
        expect(choices).to_have_text(["duel, part 0", "duel, part 1", "duel, part 2", "casual"])
        expect(seen.page.locator("#tile-waiting")).to_have_text("1")
        seen.page.locator("#queue").select_option(label="duel, part 2")
        expect(seen.page.locator("#tile-waiting")).to_have_text("2")
        expect(seen.page.locator("#longest tbody tr")).to_have_count(2)
        assert seen.page.url.endswith("?queue=duel&part=2")
        seen.page.reload()
        expect(seen.page.locator("#tile-waiting")).to_have_text("2")
        seen.page.locator("#queue").select_option(label="casual")
        expect(seen.page.locator("#tile-waiting")).to_have_text("1")
        expect(seen.page.locator("#queue option:checked")).to_have_text("casual")
        seen.shot("shards", whole=False)
        seen.close()
        assert seen.complaints == []

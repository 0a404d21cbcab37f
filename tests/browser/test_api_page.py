"""The API page in a real browser: it renders, without asking anybody else, also on a phone."""

from collections.abc import Callable

import pytest

from evenmatch.server.http.table import OPERATIONS
from tests.browser.browsing import Visit


def read(visit: Visit) -> Visit:
    visit.page.goto(visit.url + "/docs")
    visit.page.wait_for_selector(".opblock")
    return visit


@pytest.mark.browser
def test_operations_are_shown_by_group_with_examples(visit: Callable[..., Visit]) -> None:
    seen = read(visit())
    page = seen.page
    groups = [each.get_attribute("data-tag") for each in page.query_selector_all("[data-tag]")]
    assert groups[0] == "Tickets"
    assert sorted(groups) == sorted({each.tag for each in OPERATIONS if each.name})
    seen.shot("docs", whole=False)
    page.click("#operations-Tickets-createTickets .opblock-summary-control")
    page.wait_for_selector("#operations-Tickets-createTickets .opblock-section-request-body")
    assert "zoe" in page.inner_text("#operations-Tickets-createTickets")
    seen.shot("docs-operation", whole=False)


@pytest.mark.browser
def test_request_is_tried_from_the_page(visit: Callable[..., Visit]) -> None:
    page = read(visit()).page
    queues = "#operations-Queues-getQueues"
    page.click(f"{queues} .opblock-summary-control")
    page.click(f"{queues} .try-out__btn")
    page.click(f"{queues} .execute")
    page.wait_for_selector(f"{queues} .live-responses-table")
    assert '"duel"' in page.inner_text(f"{queues} .live-responses-table")


@pytest.mark.browser
def test_nothing_is_wider_than_a_phone(visit: Callable[..., Visit]) -> None:
    seen = read(visit(viewport={"width": 390, "height": 844}))
    seen.page.click("#operations-Tickets-createTickets .opblock-summary-control")
    seen.page.wait_for_selector("#operations-Tickets-createTickets .opblock-section-request-body")
    seen.shot("docs-phone", whole=False)
    wide = seen.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 390

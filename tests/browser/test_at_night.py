"""What somebody sees who is woken at night: alarms first, calm where nothing is, and legible."""

import signal
import time
from collections.abc import Callable
from itertools import pairwise

import pytest
from playwright.sync_api import expect

from tests.browser.browsing import Visit
from tests.integration.serving import Server, ticket

pytestmark = pytest.mark.browser

Visits = Callable[..., Visit]


def create(server: Server, player: str, rating: float = 1500.0, queue: str = "duel") -> str:
    reply = server.call("POST", "/v1/tickets", ticket(player, rating=rating, queue=queue))
    assert reply.status == 201, reply.body
    return str(reply.body["id"])


def answer(server: Server, word: str, name: str) -> None:
    match = server.call("GET", f"/v1/tickets/{name}").body["match"]
    assert server.call("POST", f"/v1/matches/{match}/{word}", {"ticket": name}).status == 200


def lose_a_player(server: Server, number: int) -> None:
    """Propose a match that one of two declines, and somebody else takes his seat."""
    stays, goes = (create(server, f"{word}{number}", queue="ranked") for word in ("stay", "go"))
    answer(server, "decline", goes)
    comes = create(server, f"come{number}", queue="ranked")
    for name in (stays, comes):
        answer(server, "accept", name)


def test_an_alarm_is_coloured_and_worded_at_the_top(visit: Visits, server: Server) -> None:
    page = visit().open("/?queue=ranked").page
    expect(page.locator("#alarm-starvation .state")).to_have_text("fine")
    calm = page.evaluate("getComputedStyle(document.getElementById('alarm-lost')).borderColor")
    for number in range(12):
        lose_a_player(server, number)
    lost = page.locator("#alarm-lost")
    expect(lost.locator(".state")).to_have_text("alarm")
    # Twelve of the thirty-six who were asked declined, and each was replaced.
    expect(lost).to_contain_text("33\u00a0%")
    expect(lost).to_contain_text("of players asked declined or did not answer in 5 min.")
    expect(page.locator("#alarm-repairs")).to_contain_text("0\u00a0%")
    expect(page.locator("#alarm-repairs")).to_contain_text("failed in 5 min; 12 repairs")
    expect(page.locator("#alarm-repairs .state")).to_have_text("fine")
    expect(page.locator("#verdict")).to_have_text("Alarm: missed ready-checks.")
    alarmed = page.evaluate("getComputedStyle(document.getElementById('alarm-lost')).borderColor")
    assert alarmed != calm
    below = page.locator("#tile-waiting").bounding_box()
    above = lost.bounding_box()
    assert above is not None
    assert below is not None
    assert above["y"] < below["y"]
    page.get_by_label("Queue").select_option("duel")
    expect(lost).to_be_hidden()
    expect(page.locator("#verdict")).not_to_contain_text("ready-checks")


def test_a_stall_and_a_slow_policy_are_told_in_words(visit: Visits, server: Server) -> None:
    page = visit().open("/?queue=spare").page
    stalls = page.locator("#alarm-stalls")
    expect(stalls.locator(".state")).to_have_text("fine", timeout=90_000)
    server.process.send_signal(signal.SIGSTOP)
    time.sleep(1.5)
    server.process.send_signal(signal.SIGCONT)
    expect(stalls.locator(".state")).to_have_text("alarm")
    expect(stalls).to_contain_text("in the last minute during which the server answered nobody")
    expect(page.locator("#verdict")).to_contain_text("stalls")
    expect(page.locator("#alarm-still")).to_contain_text(
        "Alarm if enough players for three matches wait"
    )


def test_a_chart_without_data_says_so_calmly(visit: Visits) -> None:
    seen = visit().open("/?queue=spare")
    page = seen.page
    holder = page.locator("#chart-waits .plot")
    expect(holder).to_have_attribute("data-empty", "No data yet")
    assert page.locator("#chart-waits canvas").evaluate("e => getComputedStyle(e).visibility") == (
        "hidden"
    )
    for summary in page.locator("#charts .summary").all_inner_texts():
        assert " now" not in summary
    expect(page.locator("#alarm-unmatched .state")).to_have_text("too few to tell")


WRITTEN = """{
  const write = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
    (this.canvas.written ??= []).push(String(text));
    return write.call(this, text, ...rest);
  };
}"""
"""Keeps what a canvas shows as text."""


def test_one_of_a_thing_is_told_as_one(visit: Visits, server: Server) -> None:
    seen = visit()
    seen.page.add_init_script(WRITTEN)
    page = seen.open("/?queue=spare").page
    create(server, "only", queue="spare")
    expect(page.locator("#tile-waiting-sub")).to_have_text("ticket")
    expect(page.locator("#crowd-summary")).to_have_text("One ticket waits. It names no region.")
    expect(page.locator("#crowd table")).to_have_count(0)
    axis = page.locator("#chart-waiting canvas")
    page.wait_for_function(
        "canvas => (canvas.written ?? []).includes('1')", arg=axis.element_handle()
    )
    written = axis.evaluate("canvas => canvas.written")
    assert not [each for each in written if "." in each], "nobody can be a quarter of a ticket"
    create(server, "other", queue="spare")
    expect(page.locator("#plot-quality-summary")).to_contain_text("One match so far:")


GAPS = """
() => {
  const rows = new Map();
  for (const card of document.querySelectorAll('#charts > figure')) {
    if (!card.checkVisibility()) continue;
    const box = card.getBoundingClientRect();
    rows.set(box.top, Math.max(rows.get(box.top) ?? 0, box.right));
  }
  const right = document.getElementById('charts').getBoundingClientRect().right;
  return [...rows.values()].filter((end) => Math.abs(end - right) > 2);
}
"""


@pytest.mark.parametrize("width", [390, 800, 1280, 1440])
@pytest.mark.parametrize("queue", ["duel", "ranked"])
def test_no_card_stands_alone_in_its_row(visit: Visits, width: int, queue: str) -> None:
    page = visit(viewport={"width": width, "height": 800}).open(f"/?queue={queue}").page
    expect(page.locator("#verdict")).not_to_be_empty()
    assert page.evaluate(GAPS) == []


FAINT = """
() => {
  const parse = (text) => {
    const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number);
    return {r, g, b, a};
  };
  const behind = (e) => {
    for (let at = e; at; at = at.parentElement) {
      const found = parse(getComputedStyle(at).backgroundColor);
      if (found.a === 1) return found;
    }
    return {r: 255, g: 255, b: 255};
  };
  const light = ({r, g, b}) => {
    const [x, y, z] = [r, g, b].map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const told = new Set();
  let least = 99, looked = 0;
  for (const e of document.querySelectorAll('body *')) {
    const says = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!says || !e.checkVisibility({visibilityProperty: true, opacityProperty: true})) continue;
    const [a, b] = [light(parse(getComputedStyle(e).color)), light(behind(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    least = Math.min(least, ratio);
    looked += 1;
    if (ratio < 4.5) told.add(`${e.className}: ${e.textContent.slice(0, 30)} ${ratio.toFixed(2)}`);
  }
  return {faint: [...told], least, looked};
}
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_stands_out_from_what_is_behind_it(
    visit: Visits, server: Server, scheme: str
) -> None:
    for number in range(40):
        body = ticket(f"look{scheme}{number}", rating=900.0 + 31 * number, queue="slow")
        body["players"][0]["attributes"] = {"region": ("eu", "us", "asia")[number % 3]}
        server.call("POST", "/v1/tickets", body)
    page = visit(color_scheme=scheme).open("/?queue=slow").page
    expect(page.locator("#longest tbody tr").first).to_be_visible()
    for state in ("fine", "watch", "alarm"):
        page.evaluate(
            "s => document.querySelectorAll('#alarms > *').forEach(e => e.dataset.state = s)", state
        )
        found = page.evaluate(FAINT)
        print(
            f"\n{scheme}, {state}: least contrast {found['least']:.2f} of {found['looked']} texts"
        )
        assert found["faint"] == []
        assert found["looked"] > 100
    page.locator("#longest a").first.click()
    expect(page.locator("#explanation h3")).to_be_visible()
    assert page.evaluate(FAINT)["faint"] == []


def test_headings_of_the_sheet_are_in_order(visit: Visits, server: Server) -> None:
    body = ticket("headed", rating=9100.0)
    body["queues"] = ["duel"]
    name = server.call("POST", "/v1/tickets", body).body["id"]
    page = visit().open(f"/#ticket={name}").page
    expect(page.locator("#explanation h3")).to_be_visible()
    levels = page.evaluate(
        "[...sheet.querySelectorAll('h1,h2,h3,h4,h5')].map((e) => Number(e.tagName[1]))"
    )
    assert levels[0] == 2
    assert all(below <= above + 1 for above, below in pairwise(levels))
    server.call("DELETE", f"/v1/tickets/{name}")


FOCUS = """
() => {
  const e = document.activeElement, shown = e.type === 'radio' ? e.nextElementSibling : e;
  if (e === document.body) return null;
  const box = shown.getBoundingClientRect();
  const top = document.elementFromPoint(box.x + Math.min(box.width / 2, 20), box.y + 8);
  const holder = e.type === 'radio' ? e.parentElement : e;
  const isSeen = top !== null && (holder.contains(top) || top.contains(holder));
  const place = [...document.querySelectorAll('*')].indexOf(e);
  const {outlineStyle: outline} = getComputedStyle(shown);
  return {place, isSeen, outline, what: e.outerHTML.slice(0, 60)};
}
"""


@pytest.mark.parametrize("width", [390, 1280])
def test_the_focus_is_in_sight_at_each_stop_and_goes_down_the_page(
    visit: Visits, server: Server, width: int
) -> None:
    for number in range(3):
        create(server, f"tab{width}-{number}", queue="slow")
    page = visit(viewport={"width": width, "height": 800}).open("/?queue=slow").page
    expect(page.locator("#longest tbody tr").first).to_be_visible()
    places = []
    for _ in range(200):
        page.keyboard.press("Tab")
        stop = page.evaluate(FOCUS)
        if stop is None:
            break
        assert stop["isSeen"], stop
        assert stop["outline"] != "none", stop
        places.append(stop["place"])
    assert len(places) > 25
    assert places == sorted(places)

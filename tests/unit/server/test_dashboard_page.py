"""The dashboard's files: small, from here alone, no code in the page, legible in both themes."""

import re
from html.parser import HTMLParser

import pytest

from evenmatch.server.dashboard.routes import CONTENT_POLICY, PACKAGE
from evenmatch.server.http.pages import PAGE, files_of

OURS = [name for name in files_of(PACKAGE) if name.endswith(".js") and name != "uplot.js"]
BYTES_MAX = 153_000
"""All files together; 200 kB is the limit, and the figures of a busy hour have their share."""

# What stands on what: text needs 4.5, lines and edges that carry meaning 3.
TEXTS = [
    ("ink", "paper"),
    ("ink", "card"),
    ("soft", "paper"),
    ("soft", "card"),
    ("soft", "grid"),
    ("accent", "card"),
    ("accent", "paper"),
    ("on-accent", "accent"),
    ("good", "card"),
    ("bad", "card"),
    ("card", "bad"),
    ("ink", "bad-paper"),
    ("ink", "calm-paper"),
    ("soft", "calm-paper"),
    ("soft", "bad-paper"),
    ("warn", "calm-paper"),
    ("bad", "bad-paper"),
    ("heat-low", "heat-1"),
    ("heat-low", "heat-2"),
    ("heat-low", "heat-3"),
    ("heat-high", "heat-4"),
    ("heat-high", "heat-5"),
]
GRAPHICS = [
    ("one", "card"),
    ("two", "card"),
    ("three", "card"),
    ("edge", "card"),
    ("edge", "paper"),
]


def text_of(name: str) -> str:
    return files_of(PACKAGE)[name].body.decode("utf-8")


def themes() -> dict[str, dict[str, str]]:
    """Return the colours of each block of `dashboard.css` that sets all of them."""
    css = text_of("dashboard.css")
    heads = {"light": ":root {", "system dark": ':root:not([data-theme="light"]) {'}
    heads["chosen dark"] = '\n:root[data-theme="dark"] {'
    found = {}
    for name, head in heads.items():
        block = css.partition(head)[2].partition("}")[0]
        found[name] = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})\b", block))
    return found


def luminance(colour: str) -> float:
    """Return the relative luminance of WCAG 2."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, two: str) -> float:
    bright, dark = sorted((luminance(one), luminance(two)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("#ffffff", "#000000") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", ["light", "system dark", "chosen dark"])
@pytest.mark.parametrize(
    ("front", "back", "least"),
    [*((*pair, 4.5) for pair in TEXTS), *((*pair, 3.0) for pair in GRAPHICS)],
)
def test_colours_can_be_told_apart(theme: str, front: str, back: str, least: float) -> None:
    colours = themes()[theme]
    assert contrast(colours[front], colours[back]) >= least


def test_dark_is_the_same_by_system_and_by_choice() -> None:
    assert themes()["system dark"] == themes()["chosen dark"]
    assert len(themes()["light"]) == len(themes()["chosen dark"]) > 20


def test_series_differ_in_lightness_or_dash_and_not_in_hue_alone() -> None:
    plots = text_of("charts.js").partition("const PLOTS")[2].partition("\n];")[0]
    several = re.findall(r"series: \[\n(.*?)\n    \],", plots, re.S)
    assert len(several) == 3
    for series in several:
        dashes = re.findall(r"tone: \"\w+\"(?:, fill: true)?(?:, dash: (\[[^\]]*\]))?", series)
        assert len(dashes) == len(set(dashes)) >= 2


def test_files_are_small() -> None:
    assert 60_000 < sum(len(file.body) for file in files_of(PACKAGE).values()) <= BYTES_MAX


def test_nothing_is_loaded_from_elsewhere() -> None:
    for name in (*OURS, PAGE, "dashboard.css", "uplot.css"):
        for address in re.findall(r"(?:https?:)?//[\w.-]+", re.sub(r"//\s.*", "", text_of(name))):
            assert address == "http://www.w3.org"
    assert "default-src 'none'" in CONTENT_POLICY
    assert "unsafe" not in CONTENT_POLICY
    assert "http" not in CONTENT_POLICY


def test_page_holds_no_code_and_no_style_of_its_own() -> None:
    found: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            names = dict(attrs)
            if tag == "style" or (tag == "script" and "src" not in names) or "style" in names:
                found.append(tag)
            found.extend(name for name in names if name.startswith("on"))

    reader = Reader()
    reader.feed(text_of(PAGE))
    assert found == []


@pytest.mark.parametrize("name", OURS)
def test_scripts_write_text_and_never_markup(name: str) -> None:
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(",
                "new Function", "setAttribute(\"style\"", "DOMParser"):  # fmt: skip
        assert way not in text_of(name)


def test_the_charts_keep_their_notice() -> None:
    notice = text_of("uplot.LICENSE.txt")
    assert "MIT License" in notice
    assert "Leon Sorokin" in notice
    assert "uPlot" in text_of("uplot.js")[:80]
    assert "uplot.LICENSE.txt" in text_of(PAGE)

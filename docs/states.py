"""The states of a ticket, drawn and listed from the table that the engine obeys."""

from __future__ import annotations

from itertools import groupby

from evenmatch.engine.state.transitions import NEW, TRANSITIONS

PLACES = {
    NEW: (70, 110), "waiting": (230, 110), "proposed": (480, 40), "matched": (730, 110),
    "assigned": (930, 110), "cancelled": (380, 235), "expired": (230, 235),
}  # fmt: skip
"""Middles of the boxes."""
WIDE, HIGH = 120, 38
SIZE = (1020, 275)
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1b2733}"
    ".box{fill:#eef4fa;stroke:#3b6ea5;stroke-width:1.5}"
    ".way{fill:none;stroke:#5b6b7b;stroke-width:1.3}"
    ".why{font-size:11.5px;fill:#44525f;paint-order:stroke;stroke:#fff;stroke-width:4px}"
)
# How far a way bends to its left, and where along it its words stand, where that matters.
BENDS = {
    ("waiting", "proposed"): (22, 0.45), ("proposed", "waiting"): (16, 0.6),
    ("waiting", "matched"): (0, 0.62), ("matched", "waiting"): (30, 0.35),
    ("proposed", "cancelled"): (-30, 0.72), ("waiting", "cancelled"): (14, 0.6),
}  # fmt: skip
LABEL = 'role="img" aria-label="The states of a ticket and the events between them"'
ARROW = (
    '<defs><marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
    'orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" fill="#5b6b7b"/></marker></defs>'
)
OUTLINE = '<rect class="box" x="{:.0f}" y="{:.0f}" width="{}" height="{}" rx="8"/>'


def states_svg() -> str:
    """Return the diagram: a box for each state, an arrow for each way, named after its events."""
    moves = [each for each in TRANSITIONS if each.before != each.after]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE[0]} {SIZE[1]}" {LABEL}>',
        f"<style>{STYLE}</style>",
        '<rect width="100%" height="100%" fill="#fff"/>',
        ARROW,
    ]
    ways: dict[tuple[str, str], list[str]] = {}
    for move in moves:
        ways.setdefault((move.before, move.after), []).append(move.event.__name__.lower())
    parts += [_way(before, after, " or ".join(by)) for (before, after), by in ways.items()]
    for state, (x, y) in PLACES.items():
        if state == NEW:
            parts.append(f'<circle cx="{x}" cy="{y}" r="8" fill="#3b6ea5"/>')
            continue
        parts.append(OUTLINE.format(x - WIDE / 2, y - HIGH / 2, WIDE, HIGH))
        stays = [e.event.__name__.lower() for e in TRANSITIONS if e.before == e.after == state]
        parts.append(f'<text x="{x}" y="{y + 5}" text-anchor="middle">{state}</text>')
        if stays:
            parts.append(
                f'<text class="why" x="{x}" y="{y - HIGH / 2 - 7}" text-anchor="middle">'
                f"stays so when {' or '.join(stays)}</text>"
            )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _way(before: str, after: str, words: str) -> str:
    (x0, y0), (x1, y1) = PLACES[before], PLACES[after]
    length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
    bend, along = BENDS.get((before, after), (0, 0.5))
    middle = (
        (x0 + x1) / 2 + 2 * bend * (y1 - y0) / length,
        (y0 + y1) / 2 - 2 * bend * (x1 - x0) / length,
    )
    start, end = _edge((x0, y0), middle, before), _edge((x1, y1), middle, after)
    rest = 1.0 - along
    x, y = [
        rest * rest * a + 2 * rest * along * b + along * along * c
        for a, b, c in zip(start, middle, end, strict=True)
    ]
    return (
        f'<path class="way" marker-end="url(#end)" d="M{start[0]:.0f} {start[1]:.0f}'
        f'Q{middle[0]:.0f} {middle[1]:.0f} {end[0]:.0f} {end[1]:.0f}"/>'
        f'<text class="why" x="{x:.0f}" y="{y - 4:.0f}" text-anchor="middle">{words}</text>'
    )


def _edge(box: tuple[float, float], toward: tuple[float, float], state: str) -> tuple[float, float]:
    """Return where the line from a box's middle to a point leaves the box."""
    wide, high = (20, 20) if state == NEW else (WIDE + 6, HIGH + 6)
    dx, dy = toward[0] - box[0], toward[1] - box[1]
    scale = min(
        wide / 2 / abs(dx) if dx else float("inf"), high / 2 / abs(dy) if dy else float("inf")
    )
    return box[0] + dx * scale, box[1] + dy * scale


def states_table() -> list[str]:
    """Return the lines of a table with all ways, by the state that they leave."""
    lines = ["| a ticket that is | becomes | by the event | when |", "|---|---|---|---|"]
    for before, group in groupby(TRANSITIONS, key=lambda each: each.before):
        for move in group:
            shown = "new" if before == NEW else f"`{before}`"
            stays = "stays so" if before == move.after else f"`{move.after}`"
            lines.append(f"| {shown} | {stays} | `{move.event.__name__.lower()}` | {move.when} |")
    return lines

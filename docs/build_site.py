"""Build docs/ as a site: `make site`; the pages go to build/site and need no network.

The pages are those of docs/, in the order of docs/README.md. Links to files outside docs/ lose
their target, since the site does not have them. What the generator would load from elsewhere, a
shim that lets its search work on a page opened from a disk, is written here.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = ROOT / "build" / "site-pages"
SITE = ROOT / "build" / "site"
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)")
SECTION = re.compile(r"^## ([\w-]+)[^\n]*\n(.*?)(?=^## |\Z)", re.M | re.S)
ELSEWHERE = re.compile(r"""<(?:script|link|img|iframe)\b[^>]*(?:src|href)=["']?(?:https?:)?//""")
SHIM = """\
// A page opened from a disk may start no worker, so that the search runs in a frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      frame.srcdoc = "<script>postMessage = m => parent.postMessage(m, '*')<\\/script>" +
        `<script src="${url}"><\\/script>`
      this.ready = new Promise(done => { frame.onload = () => done(frame.contentWindow) })
      addEventListener("message", event => {
        if (event.source !== frame.contentWindow) return
        const heard = new MessageEvent("message", { data: event.data })
        this.dispatchEvent(heard)
        if (this.onmessage) this.onmessage(heard)
      })
      document.body.appendChild(frame)
    }
    postMessage(data) {
      this.ready.then(frame => frame.dispatchEvent(new MessageEvent("message", { data })))
    }
    terminate() {}
  }
}
"""


def main() -> int:
    """Build the site and return the exit code: 1 if a page loads something from elsewhere."""
    nav = gather()
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    config = load_config(str(DOCS / "site.yml"), strict=True)
    config["nav"] += nav
    build(config)
    found = [page for page in sorted(SITE.rglob("*.html")) if loads_from_elsewhere(page)]
    for page in found:
        print(f"{page.relative_to(ROOT)} loads something from elsewhere", file=sys.stderr)
    print(f"{SITE.relative_to(ROOT)}/index.html: {len(list(SITE.rglob('*.html')))} pages")
    return 1 if found else 0


def gather() -> list[dict[str, list[str]]]:
    """Copy the pages to where the generator reads them, and return the rest of the menu."""
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree(DOCS, PAGES, ignore=shutil.ignore_patterns("*.py", "*.yml", "__pycache__"))
    for page in PAGES.rglob("*.md"):
        original = DOCS / page.relative_to(PAGES)
        page.write_text(inside(original, page.read_text(encoding="utf-8")), encoding="utf-8")
    (PAGES / "assets").mkdir()
    (PAGES / "assets" / "iframe-worker.js").write_text(SHIM, encoding="utf-8")
    return menu((DOCS / "README.md").read_text(encoding="utf-8"))


def menu(index: str) -> list[dict[str, list[str]]]:
    """Return the how-to guides, the reference and the explanations, as the index orders them."""
    found = []
    for title, text in SECTION.findall(index):
        if title in ("How-to", "Reference", "Explanation"):
            found.append({title: [target for _, target in LINK.findall(text)]})
    return found


def inside(page: Path, text: str) -> str:
    """Return a page whose links all lead to pages of docs/ or to the web."""

    def kept(link: re.Match[str]) -> str:
        words, target = link[1], link[2]
        if target.startswith(("http://", "https://", "#")):
            return link[0]
        path = (page.parent / target.partition("#")[0]).resolve()
        return link[0] if path.is_relative_to(DOCS) and path.suffix != ".py" else words

    return LINK.sub(kept, text)


def loads_from_elsewhere(page: Path) -> bool:
    """Return whether opening a page would ask another machine for something."""
    text = page.read_text(encoding="utf-8")
    return any('rel="canonical"' not in found[0] for found in ELSEWHERE.finditer(text))


if __name__ == "__main__":
    sys.exit(main())

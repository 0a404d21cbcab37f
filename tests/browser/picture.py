"""`python -m tests.browser.picture [NAME]`: take the pictures of the dashboard in the pages."""

import io
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.browser.browsing import ROOT, Visit, browsing

DOCS = ROOT / "docs"
HERO = ROOT / "examples" / "hero"
BYTES_MAX = 200_000
AFTER_SECONDS = 38.0
"""When the charts have something to show, and the players still come."""
SIZE = {"width": 1280, "height": 960}
EVENMATCH = [sys.executable, "-m", "evenmatch.cli.main"]


@contextmanager
def demo() -> Iterator[str]:
    """Play the demo; yield the address of its dashboard."""
    with _printing([*EVENMATCH, "demo", "--hours", "2"]) as url:
        yield url


@contextmanager
def heroes() -> Iterator[str]:
    """Let bots play against a server; yield the address of its dashboard."""
    with tempfile.TemporaryDirectory() as data:
        serve = [*EVENMATCH, "serve", str(HERO / "hero.toml"), "--port", "0", "--data", data]
        with _printing(serve) as url:
            play = [sys.executable, str(HERO / "bots.py"), url, "--match-seconds", "15"]
            bots = subprocess.Popen(play, stdout=subprocess.DEVNULL)
            try:
                yield url
            finally:
                bots.terminate()
                bots.wait()


PICTURES: dict[str, Callable[[], "contextmanager[str]"]] = {
    "dashboard.png": demo,
    "hero.png": heroes,
}


def main(names: list[str]) -> int:
    code = 0
    for name in names or PICTURES:
        path = DOCS / name
        with PICTURES[name]() as url, browsing() as browser:
            time.sleep(AFTER_SECONDS)
            visit = Visit(browser, url, viewport=SIZE).open()
            visit.page.wait_for_timeout(2500)
            visit.page.screenshot(path=path)
            visit.close()
        size = path.stat().st_size
        print(f"{path}: {size:,} bytes, at most {BYTES_MAX:,}")
        code |= size > BYTES_MAX
    return code


@contextmanager
def _printing(command: list[str]) -> Iterator[str]:
    """Run a program until the block ends; yield the address that it prints."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        for line in process.stdout or io.StringIO():
            if found := re.search(r"http://[\d.:]+", line):
                yield found[0]
                return
        raise RuntimeError("the program did not print its address")
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""`python -m tests.browser.picture`: take the picture of the dashboard that README.md shows."""

import io
import re
import subprocess
import sys
import time
from pathlib import Path

from tests.browser.browsing import ROOT, Visit, browsing

PICTURE = ROOT / "docs" / "dashboard.png"
BYTES_MAX = 200_000
DEMO_SECONDS = 60
AFTER_SECONDS = 38.0
"""When the charts have something to show, and the players still come."""
SIZE = {"width": 1280, "height": 960}


def main(path: Path = PICTURE) -> int:
    command = [sys.executable, "-m", "evenmatch.cli.main", "demo", "--seconds", str(DEMO_SECONDS)]
    demo = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        url = _address(demo)
        time.sleep(AFTER_SECONDS)
        with browsing() as browser:
            visit = Visit(browser, url, viewport=SIZE).open()
            visit.page.wait_for_timeout(2500)
            visit.page.screenshot(path=path)
            visit.close()
    finally:
        demo.terminate()
        demo.wait()
    size = path.stat().st_size
    print(f"{path}: {size:,} bytes, at most {BYTES_MAX:,}")
    return int(size > BYTES_MAX)


def _address(demo: "subprocess.Popen[str]") -> str:
    for line in demo.stdout or io.StringIO():
        if found := re.search(r"http://[\d.:]+", line):
            return found[0]
    raise RuntimeError("the demo did not say where its dashboard is")


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))

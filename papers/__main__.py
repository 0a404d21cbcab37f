"""`python -m papers schlup --quick`: the same as `evenmatch reproduce schlup --quick`."""

from __future__ import annotations

import sys

from evenmatch.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["reproduce", *sys.argv[1:]]))

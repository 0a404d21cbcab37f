"""`python -m evenmatch simulate ...`: the command line where `evenmatch` is on no path."""

from __future__ import annotations

import sys

from evenmatch.cli.main import main

if __name__ == "__main__":
    sys.exit(main())

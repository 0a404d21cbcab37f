"""The command `evenmatch`: every subcommand is loaded only when it is called."""

from __future__ import annotations

import sys

from cyclopts import App, CycloptsError

import evenmatch
from evenmatch.errors import ArrivalsError, ConfigError, MatchmakingError, NotSupported

BAD_INPUT = 2
FAILURE = 1
INTERRUPTED = 130

app = App(
    name="evenmatch",
    help="Decide who plays whom, and see what that costs before you ship it.",
    version=evenmatch.__version__,
)
app.command("evenmatch.cli.serve:serve", name="serve")
app.command("evenmatch.cli.demo:demo", name="demo")
app.command("evenmatch.cli.simulate:simulate", name="simulate")
app.command("evenmatch.cli.compare:compare", name="compare")
app.command("evenmatch.cli.check:check", name="check")


def main(tokens: list[str] | None = None) -> int:
    """Run one command and return its exit code: 0, 2 for bad input, 1 for a failure."""
    try:
        result = app(tokens, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        return _say(str(error), BAD_INPUT)
    except (ConfigError, ArrivalsError, NotSupported) as error:
        return _say(str(error), BAD_INPUT)
    except MatchmakingError as error:
        return _say(str(error), FAILURE)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has left, as `head` does.
        sys.stderr.close()
        return FAILURE
    return result if isinstance(result, int) else 0


def _say(sentence: str, code: int) -> int:
    print(f"evenmatch: {' '.join(sentence.split())}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())

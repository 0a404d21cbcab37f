"""The command `evenmatch`: every subcommand is loaded only when it is called."""

from __future__ import annotations

import atexit
import codecs
import gc
import os
import sys
from difflib import get_close_matches
from errno import EACCES, ENAMETOOLONG, ENOSPC, EPERM, EROFS
from io import TextIOWrapper

from cyclopts import (
    App,
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    RepeatArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)

import evenmatch
from evenmatch.errors import (
    ArrivalsError,
    ConfigError,
    MatchmakingError,
    NotSupported,
    nearest_name,
)
from evenmatch.solvers.kernel import compiling, on_compile

BAD_INPUT = 2
FAILURE = 1
INTERRUPTED = 130
CLOSED = (EACCES, EPERM, EROFS, ENAMETOOLONG)
"""Errors of paths that the system refuses, for whatever they are named."""

COMMANDS = {
    "serve": "Start a server that takes tickets and makes matches, over HTTP.",
    "cluster": "Show what the nodes of a cluster are doing, or finish a rolling upgrade.",
    "keys": "Make, list and revoke a server's service keys.",
    "warm": "Compile the solvers now, so that no later command has to wait for it.",
    "demo": "Watch a server match real arrivals.",
    "simulate": "Simulate a scenario in virtual time and print the results.",
    "compare": "Simulate a scenario under several policies, all on the same arrivals.",
    "solve": "Divide a batch of waiting parties into matches.",
    "reproduce": "Check a paper, statement by statement.",
    "advise": "Say how many players a game needs, or how long its players will wait.",
    "theory": "Compute figures from theory: formulas and small exact models.",
    "backup": "Copy the journal of a running server, or check a copy.",
    "export": "Write a server's arrivals to a file that simulate can play.",
    "replay": "Repeat a server's decisions from its journal, or show how a match came about.",
    "check": "Check a configuration and explain it in words.",
    "import": "Convert another matchmaker's rules, and say for each line how exactly.",
}
COLLECT_AFTER = (50_000, 20, 100)
"""Objects, then passes, after which the collector looks at what is young, older, and old.

Loading a command makes tens of thousands of objects that stay, and next to none that form cycles;
`evenmatch serve` sets numbers of its own.
"""
MODULES = {"import": "import_rules"}
"""Modules and functions of commands whose own names are words of Python."""


HELP = """Make fair matches, and measure how good and how fast they are before you ship.

For example:

    evenmatch simulate scenarios/duel.toml --policy greedy
"""


def make_app(command: str = "") -> App:
    """Return the command line.

    A command's module is loaded only when it is called; until then its summary stands for its
    help, which is longer.
    """
    made = App(
        name="evenmatch",
        help=HELP,
        version=evenmatch.__version__,
    )
    for name, summary in COMMANDS.items():
        short = {} if name == command else {"help": summary}
        module = MODULES.get(name, name)
        made.command(f"evenmatch.cli.{module}:{module}", name=name, **short)
    return made


def main(tokens: list[str] | None = None) -> int:
    """Run one command and return its exit code: 0, 2 for bad input, 1 for a failure.

    Args:
        tokens: The words after `evenmatch`; None takes those of the process, which then is ours.
    """
    if tokens is None:
        _begin_and_end_quickly()
        _open_closed_streams()
        _print_everything()
    # A policy with a dotted name is found in the present folder, as `python -m` finds a module.
    # It comes last, so that no file there takes the place of a library.
    if "" not in sys.path:
        sys.path.append("")
    on_compile[:] = [_say_that_it_compiles]
    given = sys.argv[1:] if tokens is None else tokens
    command = given[0] if given else ""
    if command not in COMMANDS and command and not command.startswith("-"):
        # The parser would load every command to find that it is none of them.
        return _say(_unknown(command), BAD_INPUT)
    app = make_app(command)
    try:
        result = app(given, exit_on_error=False, print_error=False, result_action="return_value")
        # Here and not at exit, where a full disk would be a traceback.
        sys.stdout.flush()
    except UnusedCliTokensError as error:
        words = " ".join(error.unused_tokens or ())
        return _say(f"unexpected {words!r}; leave it out (see --help)", BAD_INPUT)
    except UnknownOptionError as error:
        return _say(_unknown_option(error), BAD_INPUT)
    except CycloptsError as error:
        if isinstance(error.__cause__, ConfigError):
            return _say(str(error.__cause__), BAD_INPUT)
        return _say(_unusable(error, command), BAD_INPUT)
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
    except OSError as error:
        if error.errno in CLOSED and error.filename is not None:
            return _say(_refused(error), BAD_INPUT)
        if error.errno != ENOSPC:
            raise
        # What is left in the buffer would fail once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _say(f"the output cannot be written: {error.strerror}", FAILURE)
    return result if isinstance(result, int) else 0


def _begin_and_end_quickly() -> None:
    """Keep this process from work that no command has any use for.

    A third of a start of 0.4 s would go into it: OpenBLAS begins with a thread for each core, which
    spins until it has something to do, and our matrices are too small to be divided; the collector
    walks over what is loaded again and again, and once more when the process ends and its memory is
    given back anyway.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(*COLLECT_AFTER)
    atexit.register(gc.freeze)


def _open_closed_streams() -> None:
    """Give a process that began without one of its streams a stream that nobody reads.

    Without it every print would fail, and the next file would be opened under the number to which
    libraries write their errors.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            number = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(number, True)  # of its own processes the same is true
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8"))


def _print_everything() -> None:
    """Let standard output escape what it cannot encode, as JSON does.

    Names of files may hold what is no character, and terminals may know few of them; in the locale
    C, Python would write names as they are, and fail at the first character of ours.
    """
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors in ("strict", "surrogateescape"):
        codecs.register_error("escape_as_json", _escape)
        sys.stdout.reconfigure(errors="escape_as_json")


def _escape(error: UnicodeError) -> tuple[str, int]:
    """Return what stands for characters that cannot be encoded: half by half, where they have two.

    Raises:
        UnicodeError: It is another error.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    halves = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass").hex()
    escaped = [f"\\u{halves[at : at + 4]}" for at in range(0, len(halves), 4)]
    return "".join(escaped), error.end


def _refused(error: OSError) -> str:
    """Return what to say about a path that the system refuses."""
    name = error.filename if isinstance(error.filename, int) else os.fsdecode(error.filename)
    advice = "name another path"
    if error.errno != ENAMETOOLONG:
        advice = f"let the user who runs this command reach and use it, or {advice}"
    return f"{name} cannot be used: {error.strerror}; {advice}"


def _unknown(command: str) -> str:
    """Return what to say about an unknown command."""
    nearest = get_close_matches(command, COMMANDS, n=1)
    meant = f"; did you mean {nearest[0]}?" if nearest else "."
    return f"there is no command {command[:64]!r}{meant} The commands are {', '.join(COMMANDS)}"


def _unknown_option(error: UnknownOptionError) -> str:
    """Return what to say about an unknown option."""
    given = (error.token.keyword or error.token.value)[:64]
    shown = [each for each in error.argument_collection or () if each.show]
    names = [name for each in shown for name in each.names if name.startswith("--")]
    near = nearest_name(given, names)
    meant = f"; did you mean {near}?" if near else " (see --help)"
    return f"there is no option {given}{meant}"


def _unusable(error: CycloptsError, command: str) -> str:
    """Return what to say about options and arguments that the parser refuses."""
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        if error.keyword is not None:
            return f"{error.keyword} needs a value (see --help)"
        return f"{command} needs {error.argument.name} (see evenmatch {command} --help)"
    if isinstance(error, RepeatArgumentError):
        return f"{error.token.keyword} may be given only once"
    if isinstance(error, UnknownCommandError):
        option = command[:64]
        return f"name a command before {option}: evenmatch COMMAND {option} (see --help)"
    if isinstance(error, CoercionError) and error.argument is not None and error.token is not None:
        if error.target_type is bool:
            return f"{error.token.keyword} takes no value, got {error.token.value[:64]!r}"
        choices = error.argument.get_choices()
        is_number = error.target_type is float
        if choices or is_number:
            allowed = "a number" if is_number else f"one of {', '.join(choices or ())}"
            name = error.token.keyword or error.argument.name
            return f"{name} must be {allowed}, got {error.token.value[:64]!r}"
    return str(error)


def _say_that_it_compiles() -> None:
    print(compiling(), file=sys.stderr, flush=True)


def _say(sentence: str, code: int) -> int:
    print(f"evenmatch: {' '.join(sentence.split())}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())

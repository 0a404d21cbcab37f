"""The progress bar: only on a terminal, only for long work, only on standard error."""

import io

import pytest

import evenmatch.cli.progress as module
from evenmatch.cli.progress import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_no_terminal_sees_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("simulating", 3) as on_done:
        on_done()
    assert capsys.readouterr() == ("", "")


def test_short_work_shows_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with progress("simulating", 3) as on_done:
        on_done()
    assert terminal.getvalue().strip() == ""


@pytest.mark.parametrize(("total", "shown"), [(3, "1 of 3"), (1, "simulating")])
def test_long_work_shows_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, total: int, shown: str
) -> None:
    class Now:
        """A timer that fires at once."""

        def __init__(self, delay: float, start: object) -> None:
            self.start = start
            assert delay == module.DELAY

        def cancel(self) -> None: ...

    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(module.threading, "Timer", Now)
    with progress("simulating", total) as on_done:
        on_done()
    assert shown in terminal.getvalue()

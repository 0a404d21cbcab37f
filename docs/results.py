"""Compute every number that the documentation quotes: `make results`.

Three kinds of text are rewritten in README.md and in the pages of docs/:

- the table between the markers of README.md, from `evenmatch compare` on two scenarios;
- the output under each `$ command` of a ```console block: the blocks of a page are one session in
  a throwaway folder with copies of scenarios/ and examples/, and with the files that the page
  shows under a comment `file: NAME`;
- the ```text block that follows a ```python block: what the program prints.

Words name pages; without one, all are meant. With --check nothing is written, and the exit code is
1 if a page is out of date. Instants and waits of a server differ from run to run, so that in blocks
that ask a server, or read its journal, dates, numbers with a decimal point, "waited 0 s" and limits
that widen ("100 ms now") count as equal; where bots play, all numbers do, and however many lines
say how far they are.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from difflib import unified_diff
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
TABLES = {
    "scenarios/halo.toml": ("greedy", "periodic", "window:limit=2,rate=0.1", "price"),
    "scenarios/duel.toml": ("greedy", "periodic", "window", "price"),
}
COLUMNS = {
    "matches": "{matches:,}",
    "wait, mean": "{wait[mean]:.1f} s",
    "wait, 99 % below": "{wait[p99]:.1f} s",
    "quality, mean": "{quality[mean]:.4f}",
    "cost per match": "{cost_per_match:.4g}",
    "times the best possible": "{ratio:.3f}",
    "unmatched": "{unmatched}",
}
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)
FILE = re.compile(r"^<!-- file: (\S+) -->\n\n```\w+\n(.*?)^```$", re.M | re.S)
PROGRAM = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", re.M | re.S)
VARYING = re.compile(
    r"\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|\d+\.\d+(?:e-?\d+)?"
    r"|(?<=waited )\d+(?= s)|(?<=expires in )\d+(?= s)|\d+(?= ms now)"
)
VARIES = re.compile(r"^\$ .*(?:curl|sqlite3|evenmatch (?:export|replay))", re.M)
BOTS = re.compile(r"^\$ .*bots\.py", re.M)
NUMBER = re.compile(r" *\d[\d,]*(?:\.\d+)?")
PROGRESS = re.compile(r"(?:^# s:.*\n)+", re.M)
PORT = "8080"
START_SECONDS = 20.0
PAGES_AT_ONCE = 3
"""Sessions mostly wait: for servers to start, for players to be matched."""
STREAM_SECONDS = 1.0
"""How long a stream that is followed gets to connect, and to hear the last event."""


def main(arguments: list[str]) -> int:
    is_check = "--check" in arguments
    pages = [ROOT / each for each in arguments if each != "--check"] or PAGES
    stale = []
    texts = [page.read_text(encoding="utf-8") for page in pages]
    with ThreadPoolExecutor(PAGES_AT_ONCE) as pool:
        rewritten = list(pool.map(refreshed, texts))
    for page, text, fresh in zip(pages, texts, rewritten, strict=True):
        if same(fresh) != same(text):
            stale.append((page, text, fresh))
            if not is_check:
                page.write_text(fresh, encoding="utf-8")
    for page, text, fresh in stale:
        verb = "is out of date: run make results" if is_check else "was rewritten"
        print(f"{page.relative_to(ROOT)} {verb}")
        print(
            *unified_diff(same(text).splitlines(), same(fresh).splitlines(), n=0, lineterm=""),
            sep="\n",
        )
    return 1 if stale and is_check else 0


def refreshed(text: str) -> str:
    """Return a page with all its numbers computed anew."""
    if BEGIN in text:
        before, _, rest = text.partition(BEGIN)
        text = f"{before}{BEGIN}\n\n{results_table()}\n{END}{rest.partition(END)[2]}"
    text = PROGRAM.sub(lambda found: _program(found[1]), text)
    if CONSOLE.search(text):
        with Session() as session:
            for found in FILE.finditer(text):
                (session.folder / found[1]).write_text(found[2], encoding="utf-8")
            outputs = [session.block(found[1]) for found in CONSOLE.finditer(text)]
        # Streams are read to their end when the session is over.
        rewritten = iter(outputs)
        text = CONSOLE.sub(lambda _: f"```console\n{''.join(next(rewritten)())}```", text)
    return text


def same(text: str) -> str:
    """Return a page without what differs from run to run: servers, journals, bots."""
    return CONSOLE.sub(lambda found: _same_block(found[0]), text)


def _same_block(block: str) -> str:
    if BOTS.search(block):
        return PROGRESS.sub("# s: ...\n", NUMBER.sub("#", block))
    return VARYING.sub("#", block) if VARIES.search(block) else block


def results_table() -> str:
    """Return the table of README.md."""
    lines = ["| scenario | policy | " + " | ".join(COLUMNS) + " |"]
    lines.append("|---|---|" + "--:|" * len(COLUMNS))
    for scenario, policies in TABLES.items():
        options = [word for policy in policies for word in ("--policy", policy)]
        output = run(["compare", scenario, *options, "--optimum", "--json"], ROOT)
        for row in json.loads(output)["runs"]:
            row["unmatched"] = row["expired"] + row["cancelled"] + row["unfinished"]
            cells = [_cell(form, row) for form in COLUMNS.values()]
            name = Path(scenario).stem
            lines.append(f"| {name} | `{row['policy']}` | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(form: str, row: dict[str, object]) -> str:
    try:
        return form.format(**row)
    except TypeError:
        return "-"


def environment() -> dict[str, str]:
    """Return an environment in which `evenmatch` and `python` are those of this interpreter."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}


def run(arguments: list[str], folder: Path) -> str:
    """Return what a command of evenmatch prints."""
    command = [sys.executable, "-m", "evenmatch.cli.main", *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=folder, env=environment()
    )
    if done.returncode:
        raise SystemExit(f"evenmatch {' '.join(arguments)} failed: {done.stderr}")
    return done.stdout


def _program(source: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", source],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**environment(), "PYTHONPATH": "examples"},
    )
    if done.returncode:
        raise SystemExit(f"a program of the documentation failed:\n{source}\n{done.stderr}")
    return f"```python\n{source}```\n\n```text\n{trimmed(done.stdout)}```"


def trimmed(output: str) -> str:
    """Return text without blanks at the ends of lines, ended by a line break."""
    lines = [line.rstrip() for line in output.splitlines()]
    return "".join(f"{line}\n" for line in lines)


class Session:
    """The commands of one page, run in order: a shell, at most one server, streams beside it."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="evenmatch-docs-"))
        for name in ("scenarios", "examples"):
            shutil.copytree(ROOT / name, self.folder / name)
        self.port = str(_free_port())
        self.server: subprocess.Popen[str] | None = None
        self.streams: list[subprocess.Popen[str]] = []
        self.heard: dict[int, str] = {}

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        if self.streams:
            time.sleep(STREAM_SECONDS)
        for number, each in enumerate(self.streams):
            os.killpg(each.pid, signal.SIGTERM)
            self.heard[number] = self._shown(each.communicate(timeout=10)[0])
        if self.server is not None and self.server.poll() is None:
            self.server.terminate()
            self.server.wait(timeout=20)
        shutil.rmtree(self.folder)

    def block(self, text: str):
        """Run a block; return a function that gives its text once the session is over."""
        parts: list[str | int] = []
        for command in re.findall(r"^\$ ((?:.*\\\n)*.*)$", text, re.M):
            parts += [f"$ {command}\n", self._run(command)]
        return lambda: [self.heard[p] if isinstance(p, int) else p for p in parts]

    def _run(self, command: str) -> str | int:
        real = command.replace(PORT, self.port)
        if command.startswith("evenmatch serve"):
            return self._serve(real)
        process = subprocess.Popen(
            ["bash", "-c", real],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self.folder,
            env=self._environment(),
            start_new_session=True,
        )
        if "curl -sN" in command:
            self.streams.append(process)
            time.sleep(STREAM_SECONDS)
            return len(self.streams) - 1
        output = process.communicate(timeout=120)[0]
        if command.startswith("kill ") and self.server is not None:
            self.server.wait(timeout=20)
            self.server = None
        return self._shown(output)

    def _serve(self, command: str) -> str:
        arguments = command.partition("&")[0].split()[1:]
        if "--port" not in arguments:
            arguments += ["--port", self.port]
        self.server = subprocess.Popen(
            [sys.executable, "-m", "evenmatch.cli.main", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=self.folder,
            env=self._environment(),
        )
        assert self.server.stdout is not None
        line = self.server.stdout.readline()
        if not line:
            raise SystemExit(f"the server of the documentation did not start: {command}")
        return self._shown(line)

    def _environment(self) -> dict[str, str]:
        server = "" if self.server is None else str(self.server.pid)
        return {**environment(), "SERVER": server, "PYTHONPATH": "examples"}

    def _shown(self, output: str) -> str:
        return trimmed(output.replace(self.port, PORT)).lstrip("\n")


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

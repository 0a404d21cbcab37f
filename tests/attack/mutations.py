"""Files of a data directory are damaged, one way after another, and a server starts on each.

Either it has everything that was acknowledged, or it refuses in a sentence. What nobody can notice
is left out: that the journal's log and its witness were both taken away.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from tests.attack.data_directory import Outcome, Truth, leave_data, outcome_of
from tests.attack.report import Row

PAGE = 4_096
SHOWN = 5
"""Mutations that did harm which are told in words."""
SECTOR = 512
GONE_SHARE = OLDER_SHARE = 0.03
ROWS_SHARE = 0.15
UNTOUCHED = ("audit.log",)
"""Written for people; no start reads it."""
JOURNAL = "journal.db"


def mutations(folder: Path, seconds: float, count: int = 0) -> list[Row]:
    """Damage copies of data directories for so many seconds, or so many of them."""
    left, rng = leave_data(folder), random.Random(1)
    earlier = folder / "earlier"
    done, whole, refused = Counter[str](), 0, 0
    harm: list[str] = []
    end = time.monotonic() + seconds
    while sum(done.values()) < count if count else time.monotonic() < end:
        state = rng.choice(list(left))
        source, truth = left[state]
        what, found = _one(source, truth, earlier, folder / "damaged" / "data", rng)
        done[what.partition(":")[0]] += 1
        whole += found.is_whole
        refused += bool(found.refusal)
        if found.wrong:
            harm.append(f"{state}, {what}: {found.wrong}")
    return [
        Row("mutations", "data directories damaged", sum(done.values()), "> 0", bool(done)),
        Row("mutations", "files", ", ".join(f"{n} {k}" for k, n in sorted(done.items())),
            "(told)", True),
        Row("mutations", "everything was there", whole, "(told)", True),
        Row("mutations", "refused in a sentence", refused, "(told)", True),
        Row("mutations", "lost, doubled, or a traceback", len(harm), "0", not harm),
        *(Row("mutations", "harm", each, "none", False) for each in harm[:SHOWN]),
    ]  # fmt: skip


def _one(
    source: Path, truth: Truth, earlier: Path, data: Path, rng: random.Random
) -> tuple[str, Outcome]:
    """Damage a copy and return what was done, and what a start makes of it."""
    shutil.rmtree(data.parent, ignore_errors=True)
    shutil.copytree(source, data)
    shutil.copy(source.parent / "config.toml", data.parent)
    is_in_rows = rng.random() < ROWS_SHARE
    what = _damage_rows(data, rng) if is_in_rows else _damage_file(data, earlier, rng)
    return what, outcome_of(data, truth)


def _damage_file(data: Path, earlier: Path, rng: random.Random) -> str:
    files = sorted(
        each for each in data.rglob("*") if each.is_file() and each.name not in UNTOUCHED
    )
    # The journal is what everything rests on, and the log holds what is newest.
    weights = [5 if each.name in (JOURNAL, f"{JOURNAL}-wal") else 2 for each in files]
    (path,) = rng.choices(files, weights)
    name = str(path.relative_to(data))
    if rng.random() < GONE_SHARE:
        path.unlink()
        return f"{name}: gone"
    old = earlier / name
    if rng.random() < OLDER_SHARE and old.is_file():
        shutil.copy(old, path)
        return f"{name}: as it was earlier"
    how = rng.choice(list(DAMAGES))
    path.write_bytes(DAMAGES[how](path.read_bytes(), rng))
    return f"{name}: {how}"


def _flip(body: bytes, rng: random.Random, bits: int = 1) -> bytes:
    made = bytearray(body)
    for _ in range(bits):
        if made:
            made[rng.randrange(len(made))] ^= 1 << rng.randrange(8)
    return bytes(made)


def _flip_many(body: bytes, rng: random.Random) -> bytes:
    return _flip(body, rng, rng.randint(2, 40))


def _block(body: bytes, rng: random.Random, fill: Callable[[int], bytes]) -> bytes:
    """Return the bytes with other ones in a page, a sector, or a few of them."""
    size = rng.choice((PAGE, SECTOR, rng.randint(1, 64)))
    at = rng.randrange(max(1, len(body) // size)) * size
    return body[:at] + fill(len(body[at : at + size])) + body[at + size :]


def _zero(body: bytes, rng: random.Random) -> bytes:
    return _block(body, rng, bytes)


def _noise(body: bytes, rng: random.Random) -> bytes:
    return _block(body, rng, rng.randbytes)


def _cut(body: bytes, rng: random.Random) -> bytes:
    return body[: rng.randrange(len(body) + 1)]


def _cut_between_pages(body: bytes, rng: random.Random) -> bytes:
    return body[: rng.randrange(len(body) // PAGE + 1) * PAGE]


def _longer(body: bytes, rng: random.Random) -> bytes:
    return body + rng.choice((bytes, rng.randbytes))(rng.randint(1, 2 * PAGE))


def _pages(body: bytes, rng: random.Random) -> tuple[bytes, list[bytes]]:
    """Return what comes before the pages, and these: those of the log have heads of 24 bytes."""
    start, size = rng.choice(((0, PAGE), (32, PAGE + 24)))
    return body[:start], [body[at : at + size] for at in range(start, len(body), size)]


def _page_twice(body: bytes, rng: random.Random) -> bytes:
    head, pages = _pages(body, rng)
    if pages:
        pages.insert(rng.randrange(len(pages)), rng.choice(pages))
    return head + b"".join(pages)


def _page_gone(body: bytes, rng: random.Random) -> bytes:
    head, pages = _pages(body, rng)
    if pages:
        pages.pop(rng.randrange(len(pages)))
    return head + b"".join(pages)


def _pages_swapped(body: bytes, rng: random.Random) -> bytes:
    head, pages = _pages(body, rng)
    if pages:
        i, j = rng.randrange(len(pages)), rng.randrange(len(pages))
        pages[i], pages[j] = pages[j], pages[i]
    return head + b"".join(pages)


def _page_over_another(body: bytes, rng: random.Random) -> bytes:
    head, pages = _pages(body, rng)
    if pages:
        pages[rng.randrange(len(pages))] = rng.choice(pages)
    return head + b"".join(pages)


def _digit(body: bytes, rng: random.Random) -> bytes:
    """Return the bytes with another digit, which in a text still makes sense."""
    digits = [at for at, each in enumerate(body) if 48 <= each <= 57]
    if not digits:
        return _flip(body, rng)
    at = rng.choice(digits)
    return body[:at] + str(rng.randrange(10)).encode() + body[at + 1 :]


DAMAGES: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "a bit": _flip,
    "bits": _flip_many,
    "zeros": _zero,
    "noise": _noise,
    "cut": _cut,
    "cut between pages": _cut_between_pages,
    "longer": _longer,
    "a page twice": _page_twice,
    "a page gone": _page_gone,
    "pages swapped": _pages_swapped,
    "a page over another": _page_over_another,
    "a digit": _digit,
}

ROWS = {
    "a record gone": "DELETE FROM records WHERE seq = :one",
    "records gone": "DELETE FROM records WHERE seq >= :one",
    "a record's body in another": "UPDATE records SET body = "
    "(SELECT body FROM records WHERE seq = :one) WHERE seq = :other",
    "a record in another's place": "UPDATE OR REPLACE records SET seq = :one WHERE seq = :other",
    "a record twice": "INSERT INTO records SELECT shard, :last + 1, wall, crc, body"
    " FROM records WHERE seq = :one",
    "a record later": "UPDATE records SET wall = wall + 1 WHERE seq = :one",
    "the end earlier": "UPDATE heads SET last_seq = :one",
    "the end later": "UPDATE heads SET last_seq = last_seq + 1",
    "the end gone": "DELETE FROM heads",
    "a newer snapshot gone": "DELETE FROM snapshots WHERE seq = (SELECT max(seq) FROM snapshots)",
    "all snapshots gone": "DELETE FROM snapshots",
    "a snapshot in another's place": "UPDATE snapshots SET seq = :one"
    " WHERE seq = (SELECT max(seq) FROM snapshots)",
    "a snapshot's state in another": "UPDATE snapshots SET body ="
    " (SELECT body FROM snapshots ORDER BY seq LIMIT 1)",
    "segments gone": "DELETE FROM segments",
    "a table gone": "DROP TABLE snapshots",
    "another shard": "UPDATE records SET shard = 's1' WHERE seq = :one",
}


def _damage_rows(data: Path, rng: random.Random) -> str:
    """Change rows of the journal as SQLite would, so that its pages are sound."""
    how = rng.choice(list(ROWS))
    with closing(sqlite3.connect(data / JOURNAL, isolation_level=None)) as connection:
        last = connection.execute("SELECT last_seq FROM heads").fetchone()[0]
        one, other = rng.randint(1, last), rng.randint(1, last)
        given = {"one": one, "other": other, "last": last}
        connection.execute(ROWS[how], {k: v for k, v in given.items() if f":{k}" in ROWS[how]})
    return f"{JOURNAL} rows: {how} ({one}, {other})"

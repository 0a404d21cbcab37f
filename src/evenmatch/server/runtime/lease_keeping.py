"""Waits for, and keeps, the lease of a shard whose journal is not in the data directory.

A journal in the data directory needs neither: the lock on the directory keeps others out.

The journal refuses what an owner writes whose lease somebody else has taken since. Nobody refuses
what it answers from memory, so it stops that by itself: `LEASE_SPARE` before its lease is over,
counted on its own clock from before it asked, unless it has renewed it.
"""

from __future__ import annotations

import asyncio
import math
import os
import secrets
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from evenmatch.errors import ConfigError, JournalError, JournalUnavailable, StaleOwner
from evenmatch.journals.base import Journal
from evenmatch.server.runtime.logs import log

LEASE_SECONDS = 30.0
LEASE_SPARE = 1.0 / 30.0
"""Share of a lease at its end that does not count: clocks differ in speed."""
RELEASED = 1e-3
"""Length of a lease that is given back, seconds."""
RELEASE_SECONDS = 1.0
"""How long giving it back may take, where a server stops: it is over after its time anyway."""
RENEWALS = 3
"""How often a lease is renewed in its time."""
ASK_EVERY = 0.5
"""Seconds between two questions whether another server's lease is over."""
WATCHED = 5.0
"""Seconds beyond its length after which a lease that nobody renews is over for certain."""
OWNER_NAME = "owner"
LEASE_OVER = "its lease is over, and the journal does not renew it"
WAS_AWAY = "its lease is over, because the server was away for longer than that"


def owner_of(data: Path | None) -> str:
    """Return the name under which a server owns shards in a journal that others can reach.

    It is kept in the data directory: a server that starts there again goes on at once, and needs
    not wait until its own lease is over.

    Args:
        data: The data directory; without one, the name is new each time.

    Raises:
        ConfigError: The directory cannot be written.
    """
    new = f"{socket.gethostname()}-{secrets.token_hex(4)}"
    if data is None:
        return new
    path = data / OWNER_NAME
    try:
        data.mkdir(parents=True, exist_ok=True)
        # Two that start at once agree on the one that was first.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        pass
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from error
    else:
        with os.fdopen(descriptor, "w") as file:
            file.write(new)
    try:
        # Empty if a server was killed just then: then nobody has owned anything by that name.
        return path.read_text().strip() or new
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}; delete it") from error


class Claim(NamedTuple):
    """What a server asks the journal for.

    Args:
        shard: Which one.
        owner: Who asks.
        seconds: Length of the lease.
    """

    shard: str
    owner: str
    seconds: float = LEASE_SECONDS

    @property
    def counted(self) -> float:
        """Return for how many seconds the lease counts from when it was asked for."""
        return self.seconds * (1.0 - LEASE_SPARE)


async def wait_for_lease(journal: Journal, claim: Claim, *, forever: bool) -> None:
    """Ask for the lease until it is granted.

    Args:
        journal: Others can write to it.
        claim: What is asked for.
        forever: Wait for as long as another server renews its lease.

    Raises:
        StaleOwner: Another server holds the shard, and goes on to.
    """
    loop = asyncio.get_running_loop()
    until, is_told = loop.time() + claim.seconds + WATCHED, False
    while True:
        try:
            await journal.lease(*claim)
        except StaleOwner as error:
            if not forever and loop.time() >= until:
                raise
            if 0.0 < error.length <= RELEASED:
                # Its last owner has given it back, and holds nothing up.
                await asyncio.sleep(error.left)
                continue
            if not is_told:
                log.info("waiting_for_lease", shard=claim.shard, reason=str(error))
            is_told = True
            await asyncio.sleep(ASK_EVERY)
        else:
            return


class LeaseKeeper:
    """Renews a lease until it is told to stop, or another owner has it.

    Args:
        journal: Others can write to it.
        claim: What is held.
        lost: Called once when somebody else has taken over since.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        journal: Journal,
        claim: Claim,
        lost: Callable[[JournalError], None],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._journal = journal
        self._claim = claim
        self._lost = lost
        self._task: asyncio.Task[None] | None = None
        self._is_held = False
        self._epoch = 0
        self._clock = clock
        self._until = math.inf
        # When the journal was asked what it has not answered yet, and whether it failed to.
        self._asked_at: float | None = None
        self._is_late = False

    @property
    def is_over(self) -> bool:
        """Return whether another server may own the shard by now; False where no lease is kept."""
        return self._clock() >= self._until

    @property
    def refusal(self) -> str | None:
        """Return why the lease is over, or None.

        A process that was stopped, and asks only afterwards, has no reason to blame the journal.
        """
        if not self.is_over:
            return None
        was_asked = self._asked_at is not None and self._asked_at < self._until
        return LEASE_OVER if was_asked or self._is_late else WAS_AWAY

    @property
    def left(self) -> float:
        """Return for how many seconds the lease still counts, 0 if it is over."""
        return max(0.0, self._until - self._clock())

    def keep(self, epoch: int, asked_at: float | None = None) -> None:
        """Renew the lease of this epoch from now on.

        Args:
            epoch: What the journal granted.
            asked_at: When it was asked for, by the clock; None means now.
        """
        self.stop()
        self._is_held, self._epoch = True, epoch
        asked_at = self._clock() if asked_at is None else asked_at
        self._until = asked_at + self._claim.counted
        self._asked_at, self._is_late = None, False
        self._task = asyncio.create_task(self._renew(epoch, asked_at))

    def stop(self) -> None:
        """Stop renewing it."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def leave(self) -> None:
        """Neither renew it nor give it back: it is another process's, maybe one of this owner."""
        self.stop()
        self._is_held = False

    async def release(self) -> None:
        """Let the next server begin at once, if a lease is kept here.

        What nobody could be told is over after its time anyway.
        """
        if self._is_held:
            with suppress(JournalError, TimeoutError):
                async with asyncio.timeout(RELEASE_SECONDS):
                    await self._journal.lease(self._claim.shard, self._claim.owner, RELEASED)

    async def confirm(self) -> None:
        """Ask the journal whether the lease is still the one that is kept, if any was.

        Raises:
            StaleOwner: Another owner has it, or had it meanwhile.
            JournalUnavailable: The journal does not say.
        """
        if not self._epoch:
            return
        present = await self._journal.lease(*self._claim)
        if present != self._epoch:
            raise StaleOwner(
                f"shard {self._claim.shard!r} is in epoch {present}, and what was meant for epoch "
                f"{self._epoch} is refused: look at what is in force and decide again"
            )

    async def _renew(self, epoch: int, asked_at: float) -> None:
        each = self._claim.seconds / RENEWALS
        pause = asked_at + each - self._clock()
        while True:
            await asyncio.sleep(max(0.0, pause))
            self._asked_at = asked_at = self._clock()
            try:
                present = await self._journal.lease(*self._claim)
            except StaleOwner as error:
                self._is_held = False
                self._lost(error)
                return
            except JournalError as error:
                if not self._is_late:
                    log.warning("lease_not_renewed", shard=self._claim.shard, error=str(error))
                pause, self._is_late = ASK_EVERY, True
                continue
            if present != epoch:
                # Somebody else had it meanwhile, and may have written.
                self._lost(
                    JournalUnavailable("the server had lost its lease for a while; try again")
                )
                return
            self._asked_at, self._is_late = None, False
            self._until = asked_at + self._claim.counted
            pause = each

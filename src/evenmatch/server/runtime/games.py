"""The games of one process: each has its own engine, journal, keys and limits.

One game is the usual case, and its data are in the data directory itself. Where a process serves
several, each has a folder of its own name there, and they share nothing but the address.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import msgspec

from evenmatch.config.files import naming
from evenmatch.errors import JournalError, JournalUnavailable, MatchmakingError
from evenmatch.journals.base import Journal
from evenmatch.journals.memory import MemoryJournal
from evenmatch.journals.opening import folder_beside, is_shared, open_journal, open_store
from evenmatch.journals.sqlite import SqliteJournal
from evenmatch.journals.store_thread import StoreThread
from evenmatch.server.auth.accounts import Accounts
from evenmatch.server.auth.authenticate import Authenticator, GameEntrance
from evenmatch.server.http.app import App
from evenmatch.server.http.responses import Asgi
from evenmatch.server.operations.versions import Versions, read_anew
from evenmatch.server.runtime.clock import Clocks
from evenmatch.server.runtime.lease_keeping import owner_of
from evenmatch.server.runtime.logs import lines_about, log
from evenmatch.server.runtime.recovery import ShardPlan
from evenmatch.server.runtime.runtime import Runtime
from evenmatch.server.runtime.services import Services, assemble
from evenmatch.server.runtime.time_notes import TimeNotes
from evenmatch.server.runtime.time_records import TimeRecords

NOTE_AGAIN = 1.0
"""Seconds until what could not be written beside the journal is tried again."""


class Game(msgspec.Struct, frozen=True):
    """A game before it starts.

    Args:
        plan: What it runs, and where its data are.
        accounts: Who may come in.
        name: Its name, where it is one of several.
    """

    plan: ShardPlan
    accounts: Accounts
    name: str = ""


def game(plan: ShardPlan, tenant: str = "") -> Game:
    """Return a game; its keys are read.

    Args:
        plan: What it runs.
        tenant: Its name, where it is one of several.

    Raises:
        ConfigError: A file of keys cannot be used.
        JournalError: The server of the journal does not show the keys.
    """
    folder, store = _beside(plan, tenant)
    try:
        accounts = Accounts(plan.settings, folder, tenant, store=store)
    except MatchmakingError:
        if store is not None:
            store.close()
        raise
    plan = msgspec.structs.replace(plan, has_keys=accounts.is_keyed)
    if plan.journal:
        plan = msgspec.structs.replace(plan, owner=owner_of(plan.data))
    return Game(plan, accounts, tenant)


def _beside(plan: ShardPlan, tenant: str) -> tuple[Path | None, StoreThread | None]:
    """Return where keys, configurations and the audit log are: in a folder, or on a server.

    They are in the data directory, if there is one; else with the journal.
    """
    if plan.data is not None or not plan.journal:
        return plan.data, None
    if not is_shared(plan.journal):
        return folder_beside(plan.journal, game=tenant), None
    return None, StoreThread(lambda: open_store(plan.journal, game=tenant))


class Games:
    """The running games of one process.

    Args:
        games: At least one.
        snapshot_every: Records between two snapshots.
        clocks: Where they get the time from.
        open_with: Opens the journal of a plan; its name comes with it, where it is one of several.
    """

    def __init__(
        self,
        games: Sequence[Game],
        *,
        snapshot_every: int,
        clocks: Clocks | None = None,
        open_with: Callable[[ShardPlan, str], Journal] | None = None,
    ) -> None:
        clocks = clocks or Clocks()

        def assembled(each: Game) -> Services:
            with _naming(each.plan), lines_about(game=each.name):
                journal = (open_with or _open_journal)(each.plan, each.name)
                accounts, shard = each.accounts, each.plan.shard
                versions = Versions(accounts.folder, accounts.store, shard)
                return assemble(
                    each.plan,
                    journal,
                    snapshot_every=snapshot_every,
                    clocks=clocks,
                    versions=versions,
                )

        self.services: tuple[Services, ...] = tuple(assembled(each) for each in games)
        self._names = [each.name for each in games]
        self._notes = [_time_notes(each.runtime) for each in self.services]
        self._turns: list[asyncio.Task[None]] = []
        self._first_keys: set[asyncio.Task[None]] = set()
        self.gate = Authenticator(
            [
                self._entrance(g.accounts, services)
                for g, services in zip(games, self.services, strict=True)
            ],
            wall=clocks.wall,
            clock=clocks.monotonic,
        )

    @property
    def app(self) -> Asgi:
        """Return what answers requests."""
        return self.gate

    @property
    def direct_gate(self) -> Authenticator | None:
        """Return who lets requests in past ASGI."""
        return self.gate

    frames = None
    """There are no other nodes."""

    @property
    def may_answer(self) -> bool:
        """Return whether the lease of each game is held at this moment."""
        return all(each.runtime.refusal is None for each in self.services)

    async def watch(self) -> None:
        """Look at the files of keys from time to time, for ever."""
        await self.gate.watch()

    @property
    def origins(self) -> tuple[str, ...]:
        """Return the web origins of all games; a browser asks before it shows whom it is for."""
        settings = (services.runtime.plan.settings for services in self.services)
        return tuple(dict.fromkeys(origin for each in settings for origin in each.origins))

    @property
    def late(self) -> float:
        """Return for how many seconds the event loop has not run; any thread may ask."""
        return max(each.runtime.lag.present for each in self.services)

    async def refresh(self) -> None:
        """Take keys and CONFIG as they are now: the games may have stood by for long."""
        for each in self.services:
            plan = await asyncio.to_thread(read_anew, each.runtime.plan)
            each.runtime.plan = msgspec.structs.replace(plan, has_keys=self.gate.is_keyed)

    async def start(self) -> None:
        """Start all games; if one cannot, none runs.

        Raises:
            MatchmakingError: A journal or a configuration cannot be used.
        """
        for number, services in enumerate(self.services):
            try:
                with lines_about(game=self._names[number]):
                    await services.runtime.start()
            except MatchmakingError as error:
                # The one that failed has stopped itself.
                others = (*self.services[:number], *self.services[number + 1 :])
                await asyncio.gather(*(each.runtime.stop() for each in others))
                with _naming(services.runtime.plan):
                    raise error from error.__cause__
        self._turns = []
        for name, services, notes in zip(self._names, self.services, self._notes, strict=True):
            with lines_about(game=name):
                self._turns.append(asyncio.create_task(services.operator.watch_turns()))
                self._turns.append(asyncio.create_task(notes.watch()))

    async def stop(self, *, with_snapshot: bool = True) -> None:
        """Stop all games that run.

        Args:
            with_snapshot: Take a last one. Who waits for the game has read all but its last
                records, and a snapshot would only make them wait longer.
        """
        for task in (*self._turns, *self._first_keys):
            task.cancel()
        for notes in self._notes:
            notes.end()
        for services in self.services:
            services.drain.close()
            services.presence.close()
            services.shadows.close()
            services.allocations.close()
        ends = (each.runtime.stop(with_snapshot=with_snapshot) for each in self.services)
        await asyncio.gather(*ends)

    async def follow(self, *, anew: bool = False) -> bool:
        """Read what another server has written since, before the games start.

        Args:
            anew: Begin with the newest snapshots.

        Returns:
            Whether there was anything.

        Raises:
            MatchmakingError: A journal cannot be read now.
        """
        read = await asyncio.gather(*(each.runtime.follow(anew=anew) for each in self.services))
        return any(read)

    async def save(self) -> None:
        """Take snapshots of what none covers."""
        await asyncio.gather(*(each.runtime.save() for each in self.services))

    async def raise_format(self) -> None:
        """Write the newest record format from now on, which older versions cannot read."""
        for each in self.services:
            await each.runtime.raise_format()

    async def leave(self) -> None:
        """Do nothing: there are no other nodes to give the games to."""

    def close(self) -> None:
        """End streams and long polls."""
        for services in self.services:
            services.followers.close()

    async def reload(self) -> None:
        """Read the files of configuration and of keys anew."""
        self.gate.look()
        for services in self.services:
            await services.operator.reload()

    def turned_away(self, reason: str) -> None:
        """Count somebody whom the process had no place for; which game they meant nobody knows."""
        for services in self.services:
            services.metrics.turned_away(reason)

    def watch_certificate(self, seconds_left: Callable[[], float]) -> None:
        """Show among the metrics of each game for how long the server's certificate is valid."""
        for services in self.services:
            services.metrics.show_certificate(seconds_left)

    def drain(self, seconds: float | None = None) -> None:
        """Take no new tickets, and end when no ticket waits any more.

        Args:
            seconds: It ends after so long at the latest; None means what each CONFIG says.
        """
        for services in self.services:
            limit = services.runtime.plan.settings.drain_max if seconds is None else seconds
            services.drain.begin(limit)

    @property
    def drain_left(self) -> float | None:
        """Return for how many seconds a drain of all games may still last; None if none does."""
        left = [each.drain.seconds_left for each in self.services]
        return None if None in left else max(each for each in left if each is not None)

    @property
    def is_drained(self) -> bool:
        """Return whether a drain of all games is over."""
        return all(each.drain.over.is_set() for each in self.services)

    async def over(self) -> None:
        """Return when a game has lost its journal to another server, or all have drained."""
        await _first(self.given_up(), self._drained())

    async def given_up(self) -> None:
        """Return when a game has lost its journal to another server."""
        await _first(*(each.runtime.given_up.wait() for each in self.services))

    async def _drained(self) -> None:
        while not self.is_drained:
            for services in self.services:
                await services.drain.over.wait()

    def _entrance(self, accounts: Accounts, services: Services) -> GameEntrance:
        def keys_changed() -> None:
            services.followers.cut_all()
            runtime = services.runtime
            if accounts.is_keyed and not runtime.plan.has_keys:
                runtime.plan = msgspec.structs.replace(runtime.plan, has_keys=True)
                task = asyncio.create_task(_note_keys(runtime))
                self._first_keys.add(task)
                task.add_done_callback(self._first_keys.discard)

        app = App(services, accounts)
        return GameEntrance(
            accounts,
            app,
            keys_changed,
            lambda: services.runtime.unready is not None,
            services.metrics.turned_away,
            app.takes,
            lambda: services.drain.is_on,
        )

    def check_given_up(self) -> None:
        """Raise the error for which a game was given up.

        Raises:
            JournalUnavailable: One was.
        """
        for services in self.services:
            if services.runtime.given_up.is_set():
                reason = services.runtime.failure or "the journal belongs to another server"
                raise JournalUnavailable(reason)


async def _first(*ends: Coroutine[Any, Any, object]) -> None:
    """Return when one of several has come to its end."""
    tasks = [asyncio.create_task(each) for each in ends]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


def _naming(plan: ShardPlan) -> AbstractContextManager[None]:
    """Name the CONFIG file in what is wrong, unless the queues come from elsewhere."""
    return nullcontext() if plan.file is None or plan.set_by else naming(plan.file)


def _time_notes(runtime: Runtime) -> TimeNotes | TimeRecords:
    plan = runtime.plan
    return TimeRecords(runtime) if plan.journal else TimeNotes(plan.time_folder, runtime.time_note)


async def _note_keys(runtime: Runtime) -> None:
    """Write beside what this process writes that it has keys now, so that a restore asks for them.

    It stays one stretch of the journal: nothing was started again.
    """
    journal, shard = runtime.journal, runtime.plan.shard
    while True:
        try:
            present = (await journal.segments(shard))[-1]
            await journal.begin(shard, msgspec.structs.replace(present, keyed=True))
        except JournalError as error:
            log.error("keys_not_noted", error=str(error), consequence="tried again")
            await asyncio.sleep(NOTE_AGAIN)
        else:
            return


def _open_journal(plan: ShardPlan, name: str) -> Journal:
    if plan.journal:
        return open_journal(plan.journal, game=name)
    return MemoryJournal() if plan.data is None else SqliteJournal.open(plan.data)

"""A node's part in one shard: it asks for the lease, recovers the shard, serves it, hands it over.

    standing by --lease granted--> recovering --> answering --lost or handed over--> standing by

A node has a seat for each shard of each game, and answers from those whose lease it holds.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Literal, NamedTuple

import msgspec

from evenmatch.errors import JournalError, JournalUnavailable, MatchmakingError, StaleOwner
from evenmatch.journals.base import Journal
from evenmatch.server.cluster.identity import address_of, name_of
from evenmatch.server.runtime.games import Games
from evenmatch.server.runtime.lease_keeping import LEASE_OVER, RELEASED, RENEWALS, WAS_AWAY, Claim
from evenmatch.server.runtime.logs import lines_about, log

ASK_EVERY, ASK_SELDOM = 0.2, 1.0
"""Seconds between two questions for the lease: where its owner should have renewed it by now or
somebody waits to know who that is, and until then."""
ASK_SOON = 0.01
"""The same once its owner has said that it gives the lease to this node."""
SOON_SECONDS = 1.0
"""For how long a node asks that often, and leaves a shard alone that it has just given away."""
AGAIN_SECONDS = 1.0
"""Seconds before a node tries again that could not recover since the journal did not answer."""
UNFIT_SECONDS_MAX = 60.0
"""The longest that a node lets others try that could not recover, again and again."""
UNTRUSTED_SECONDS, UNTRUSTED_SECONDS_MAX = 60.0, 1_800.0
"""For how long such a node takes the shard from no healthy one, at first and at most."""
TELL_AGAIN_SECONDS = 60.0
"""Seconds before the log tells again that the journal does not answer."""
FOLLOW_EVERY, FOLLOW_SELDOM = 0.5, 2.0
"""Seconds between two looks at what the owner has written, and at most where it writes nothing."""
Role = Literal["standing_by", "recovering", "answering"]


class SeatStatus(msgspec.Struct, frozen=True):
    """A shard, as a node knows it.

    Args:
        tenant: The game, where a node serves several.
        shard: Its name, with which its ids begin.
        role: What this node does for it: `answering`, `recovering` or `standing_by`.
        owner: Name of the node that answers; "" if nobody is known to.
        address: HOST:PORT of that node.
        epoch: Of the lease; null unless this node answers.
        lease_left: Seconds for which the lease counts from now on; null unless this node answers.
        format: In which its records are written; null unless this node answers.
    """

    tenant: str
    shard: str
    role: Role
    owner: str
    address: str
    epoch: int | None = None
    lease_left: float | None = None
    format: int | None = None


class ShardDrain(msgspec.Struct, frozen=True):
    """A shard that takes no new tickets.

    Args:
        shard: Its name among nodes.
        seconds_left: Until the drain is over at the latest.
        is_over: Whether nobody waits any more, or the time is over.
    """

    shard: str
    seconds_left: float
    is_over: bool


class SeatPlan(NamedTuple):
    """What a seat runs.

    Args:
        tenant: The game, where there are several.
        claim: The lease that it asks for.
        journal: The way to the journal, for asking.
        start: Returns the game, not yet started, each time that the lease is granted.
    """

    tenant: str
    claim: Claim
    journal: Journal
    start: Callable[[], Games]


class Seat:
    """A node's part in one shard.

    Args:
        plan: What it is for.
        reluctance: Returns the seconds by which this node waits longer before it asks again; more
            than 0 where others have less to do, and infinite where it is to ask no more.
        look: Reads changed files of keys, for all shards of a game.
    """

    def __init__(
        self, plan: SeatPlan, reluctance: Callable[[], float], look: Callable[[], None]
    ) -> None:
        self._look = look
        self.tenant = plan.tenant
        self.claim = plan.claim
        self._holder = ""
        self._holder_changed = asyncio.Event()
        self.since = 0.0
        """When it began to answer, by the loop's clock."""
        self.taken = 0
        """How often this node got the lease."""
        self.unfollowed = 0
        """How often it could not read what the owner had written."""
        # Until when the owner drains the shard, by the loop's clock, and whether that is over.
        self._drain_heard: tuple[float, bool] | None = None
        # Until when the owner counts as answering, by the loop's clock: it said so itself.
        self._answers_until = -1.0
        self._journal = plan.journal
        self._start = plan.start
        self._reluctance = reluctance
        self._games: Games | None = None
        self._is_recovering = False
        self._successor: str | None = None
        self._outage_told_at: float | None = None
        self._outage = ""
        self._hurry_until = self._quiet_until = self._unfit_until = self._untrusted_until = -1.0
        self._failures = 0
        self._leave_request = asyncio.Event()
        self._handover_end = asyncio.Event()
        self._owner_known = asyncio.Event()
        self._ask_now = asyncio.Event()
        # The game while another node answers for it; it reads along.
        self._standby: Games | None = None
        # Who gives the shard to this node, or did so last.
        self._given_by = ""
        # How many wait to know who has the shard.
        self._waiting = 0
        self._follow_now = asyncio.Event()
        self._prepared: asyncio.Future[None] | None = None

    @property
    def holder(self) -> str:
        """Return the owner of the shard, by the name of its lease; "" if nobody is known to be."""
        return self._holder

    @holder.setter
    def holder(self, owner: str) -> None:
        if owner != self._holder:
            self._holder = owner
            changed, self._holder_changed = self._holder_changed, asyncio.Event()
            changed.set()

    @property
    def about(self) -> str:
        """Return the name of the shard among nodes."""
        return f"{self.tenant}/{self.claim.shard}"

    @property
    def games(self) -> Games | None:
        """Return the game if this node has it in memory."""
        return self._games

    @property
    def standby(self) -> Games | None:
        """Return the game while this node follows it or recovers it."""
        return self._standby

    @property
    def present(self) -> Games | None:
        """Return the game if this node answers for it now."""
        games = self._games
        if games is None or self._successor is not None or not games.may_answer:
            return None
        return games

    @property
    def is_held(self) -> bool:
        """Return whether this node has the lease, as far as it knows, and means to keep it."""
        return self._is_recovering or (self._games is not None and self._successor is None)

    @property
    def is_unfit(self) -> bool:
        """Return whether this node could not recover the shard, and leaves it to other nodes."""
        return asyncio.get_running_loop().time() < self._unfit_until

    @property
    def may_be_given(self) -> bool:
        """Return whether a node that answers may give the shard to this one.

        Each try of one that cannot recover it costs the players of a healthy node a second.
        """
        return asyncio.get_running_loop().time() >= self._untrusted_until

    def trust(self) -> None:
        """Let this node try again at once: what kept it from the shard may be mended."""
        self._unfit_until = self._quiet_until = self._untrusted_until = -1.0

    @property
    def status(self) -> SeatStatus:
        """Return what this node knows of the shard."""
        role: Role = "recovering" if self._is_recovering else "standing_by"
        epoch = left = number = None
        if (games := self.present) is not None:
            role = "answering"
            runtime = games.services[0].runtime
            epoch, left, number = *runtime.lease, runtime.format
            left = round(left, 3)
        owner, place = name_of(self.holder), self.holder.rpartition("@")[2]
        shard = self.claim.shard
        return SeatStatus(self.tenant, shard, role, owner, place, epoch, left, number)

    async def settled(self, until: float) -> None:
        """Wait until the owner is known, but not beyond an instant of the loop's clock."""
        if not self._owner_known.is_set():
            with self._awaited():
                await _either(self._owner_known, until - asyncio.get_running_loop().time())

    async def moved(self, holder: str, until: float) -> bool:
        """Wait until another owner than one is known; return whether one is.

        Args:
            holder: The owner that does not answer.
            until: By the loop's clock.
        """
        if self.holder == holder:
            with self._awaited():
                await _either(self._holder_changed, until - asyncio.get_running_loop().time())
        return self.holder != holder

    @contextmanager
    def _awaited(self) -> Iterator[None]:
        """Ask for the lease at once, and more often while somebody waits to know who has it."""
        if not self._waiting:
            self._ask_now.set()
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1

    def note(self, holder: str) -> None:
        """Note the owner of the shard by the name of its lease, unless this node knows better."""
        if self._games is None and not self._is_recovering and holder != self.claim.owner:
            self.holder = holder
            # At this node's address was the same node before it was started anew.
            if address_of(holder) != address_of(self.claim.owner):
                self._owner_known.set()

    # Draining

    @property
    def is_drained(self) -> bool:
        """Return whether a drain of the shard is over, here or at its owner."""
        if (games := self._games) is not None:
            return games.is_drained
        if (heard := self._drain_heard) is None:
            return False
        return heard[1] or asyncio.get_running_loop().time() >= heard[0]

    @property
    def drain(self) -> ShardDrain | None:
        """Return what other nodes are told of a drain of the shard; None if there is none here."""
        games = self._games
        if games is None or (left := games.drain_left) is None:
            return None
        return ShardDrain(self.about, round(left, 3), games.is_drained)

    def hear_drain(self, drain: ShardDrain | None) -> None:
        """Note whether the owner drains the shard: whoever takes over goes on with that."""
        if self._games is None and not self._is_recovering:
            now = asyncio.get_running_loop().time()
            self._drain_heard = None if drain is None else (now + drain.seconds_left, drain.is_over)

    @property
    def is_draining(self) -> bool:
        """Return whether the shard takes no new tickets, here or at its owner."""
        return self._drain_heard is not None if self._games is None else self.drain is not None

    def hear_role(self, role: Role) -> None:
        """Note what the owner says that it does for the shard."""
        seconds = self.claim.seconds if role == "answering" else 0.0
        self._answers_until = asyncio.get_running_loop().time() + seconds

    def _go_on_draining(self, games: Games) -> None:
        heard, self._drain_heard = self._drain_heard, None
        if heard is not None:
            games.drain(max(0.0, heard[0] - asyncio.get_running_loop().time()))

    # Its life

    async def live(self) -> None:
        """Ask for the lease, and answer while it is held, for ever; the log says for which."""
        with lines_about(game=self.tenant, shard=self.claim.shard):
            await self._live()

    async def _live(self) -> None:
        while True:
            games = self._standby = self._start()
            following = asyncio.create_task(self._follow(games))
            try:
                await self._granted()
                self.taken += 1
            finally:
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)
            self._is_recovering = True
            given = self._given_by if self.holder == self.claim.owner else self.holder
            before, self.holder = given, self.claim.owner
            self._owner_known.clear()
            try:
                self._look()
                await self._refreshed(games)
                await games.start()
            except MatchmakingError as error:
                await self._give_back(error)
                continue
            finally:
                self._is_recovering = False
            self._games, self._standby, self._failures = games, None, 0
            self._untrusted_until = -1.0
            self._go_on_draining(games)
            self.since = asyncio.get_running_loop().time()
            self._owner_known.set()
            log.info(
                "node_answers",
                node=name_of(self.claim.owner),
                # Nobody's where nobody had it, or its owner had given it back.
                before=name_of(before) if address_of(before) is not None else "",
            )
            await self._until_over(games)

    async def _refreshed(self, games: Games) -> None:
        """Let the game read CONFIG and keys anew, and end it if it cannot."""
        try:
            await games.refresh()
        except MatchmakingError:
            await games.stop(with_snapshot=False)
            raise

    async def _give_back(self, error: MatchmakingError) -> None:
        """Let others have the shard, since what keeps this node from it need not keep them."""
        claim, is_brief = self.claim, isinstance(error, JournalUnavailable | StaleOwner)
        seconds = (AGAIN_SECONDS if is_brief else claim.seconds) * 2.0 ** min(self._failures, 10)
        seconds = min(seconds, UNFIT_SECONDS_MAX)
        untrusted = min(UNTRUSTED_SECONDS * 2.0 ** min(self._failures, 10), UNTRUSTED_SECONDS_MAX)
        self._failures += 1
        log.error(
            "node_not_recovered",
            error=str(error),
            consequence="it stands by",
            seconds=seconds,
        )
        with suppress(JournalError):
            await self._journal.lease(claim.shard, claim.owner, RELEASED)
        self.holder = ""
        self._hurry_until = -1.0
        now = asyncio.get_running_loop().time()
        self._unfit_until = self._quiet_until = now + seconds
        self._untrusted_until = now + max(seconds, 0.0 if is_brief else untrusted)

    async def _follow(self, games: Games) -> None:
        """Read what the owner writes, for ever: taking over then needs the last records only."""
        is_told, pause = False, FOLLOW_EVERY
        while True:
            prepared, is_news = self._prepared, False
            try:
                if prepared is not None:
                    await games.refresh()
                if prepared is not None or address_of(self.holder) is not None:
                    is_news = await games.follow(anew=prepared is not None)
            except Exception as error:  # noqa: BLE001
                self.unfollowed += 1
                if not is_told:
                    unexpected = None if isinstance(error, MatchmakingError) else error
                    log.warning(
                        "shard_not_followed",
                        error=str(error) or repr(error),
                        exc_info=unexpected,
                    )
                is_told = True
                self._end_preparing(prepared, f"it cannot be read here: {error}")
            else:
                is_told = False
                self._end_preparing(prepared, "")
            pause = FOLLOW_EVERY if is_news else min(2.0 * pause, FOLLOW_SELDOM)
            await _either(self._follow_now, pause)
            self._follow_now.clear()

    def _end_preparing(self, prepared: asyncio.Future[None] | None, problem: str) -> None:
        """Tell whoever waits for it that the journal was read, or why not."""
        if prepared is None:
            return
        self._prepared = None
        if not prepared.done() and problem:
            prepared.set_exception(JournalUnavailable(problem))
            # Whoever asked may be gone.
            prepared.exception()
        elif not prepared.done():
            prepared.set_result(None)

    async def prepare(self, seconds: float) -> None:
        """Read CONFIG, keys, and the journal from its newest snapshot, for a lease to come.

        What takes longer is not waited for.

        Raises:
            JournalUnavailable: One of them cannot be read here, so recovery would fail as well.
        """
        if self._standby is None:
            return
        if self._prepared is None:
            self._prepared = asyncio.get_running_loop().create_future()
        self._follow_now.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await asyncio.shield(self._prepared)

    async def _until_over(self, games: Games) -> None:
        """Answer until the game is lost or handed over."""
        leaving = asyncio.create_task(self._leave_request.wait())
        lost = asyncio.create_task(games.given_up())
        try:
            await asyncio.wait((leaving, lost), return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            lost.cancel()
        if self._successor is None:
            log.warning("node_stands_by", reason="it has lost the lease")
        else:
            log.info("node_stands_by", successor=name_of(self._successor))
        await self._leave(games)

    async def _leave(self, games: Games) -> None:
        """Stop the game; its lease goes to whom it was promised, if to anybody."""
        loop = asyncio.get_running_loop()
        self._owner_known.clear()
        games.close()
        try:
            await games.stop(with_snapshot=self._successor is None)
        finally:
            # Whoever waits for the hand-over must not wait for ever, even if it fails.
            self._games = None
            self._handover_end.set()
        if self._successor is not None:
            self.holder = self._successor
            self._quiet_until = loop.time() + SOON_SECONDS
            self._owner_known.set()
        self._leave_request.clear()
        self._successor = None

    async def hand_over(self, successor: str) -> bool:
        """Give the shard to another node; return whether this node had it.

        Args:
            successor: Who gets it, by the name under which that node owns leases.
        """
        if self.present is None or self._leave_request.is_set():
            return False
        self._successor = successor
        # Whoever asks from now on waits for the end of it.
        self._owner_known.clear()
        self._handover_end.clear()
        self._leave_request.set()
        await self._handover_end.wait()
        return True

    def expect(self) -> None:
        """Ask for the lease at once and repeatedly: its owner is giving it to this node."""
        if self._games is not None or self._is_recovering or not self.may_be_given:
            return
        # Whoever asks for the shard meanwhile waits here for it, and is not sent back.
        if self.holder != self.claim.owner:
            self._given_by, self.holder = self.holder, self.claim.owner
        self._owner_known.clear()
        self._hurry_until = asyncio.get_running_loop().time() + SOON_SECONDS
        self._quiet_until = -1.0
        self._ask_now.set()

    async def handed_over(self) -> None:
        """Wait for the end of a hand-over, if one is under way."""
        if self._leave_request.is_set():
            await self._handover_end.wait()

    async def stop(self) -> None:
        """Stop serving, and release the lease."""
        for games in (self._games, self._standby):
            if games is not None:
                await games.stop()
        self._games = self._standby = None

    async def _granted(self) -> None:
        """Return when the lease is granted; learn meanwhile who has it."""
        claim, loop = self.claim, asyncio.get_running_loop()
        while True:
            pause = ASK_EVERY
            if loop.time() >= self._quiet_until and self._reluctance() < math.inf:
                try:
                    await self._journal.lease(claim.shard, claim.owner, claim.seconds)
                except StaleOwner as error:
                    self._end_outage()
                    self._heard(error.holder)
                    pause = _until_renewed(error)
                except JournalError as error:
                    self._note_outage(error)
                else:
                    self._end_outage()
                    return
            await self._pause(pause)

    @property
    def is_cut_off(self) -> bool:
        """Return whether the journal did not answer when this node asked it last."""
        is_stuck = self._games is not None and self._games.services[0].runtime.is_cut_off
        return self._outage_told_at is not None or self._refusal == LEASE_OVER or is_stuck

    @property
    def outage(self) -> str:
        """Return why the journal cannot be used from here, for operators; "" if nothing says so."""
        return self._refusal or self._outage

    @property
    def was_away(self) -> bool:
        """Return whether this node was away for longer than its lease, and has not renewed it."""
        return self._refusal == WAS_AWAY

    @property
    def _refusal(self) -> str | None:
        return None if self._games is None else self._games.services[0].runtime.refusal

    @property
    def is_abandoned(self) -> bool:
        """Return whether the journal is away from here, and no owner says that it answers still."""
        return self.is_cut_off and asyncio.get_running_loop().time() >= self._answers_until

    def _note_outage(self, error: JournalError) -> None:
        """Tell of a journal that does not answer, at once and then once a minute."""
        now, self._outage = asyncio.get_running_loop().time(), str(error)
        if self._outage_told_at is None or now - self._outage_told_at >= TELL_AGAIN_SECONDS:
            self._outage_told_at = now
            log.warning(
                "lease_not_asked",
                error=str(error),
                consequence="asked again until the journal answers",
            )

    def _end_outage(self) -> None:
        if self._outage_told_at is not None:
            self._outage_told_at, self._outage = None, ""
            log.info("journal_answers_again")

    def _heard(self, holder: str) -> None:
        # A lease that was given back has its last owner's name in it until it is taken.
        if asyncio.get_running_loop().time() >= self._hurry_until:
            self.note(holder)

    async def _pause(self, seconds: float) -> None:
        """Wait until it is time to ask again.

        Args:
            seconds: For how long nothing is expected to change.
        """
        if asyncio.get_running_loop().time() < self._hurry_until:
            await asyncio.sleep(ASK_SOON)
            return
        self._ask_now.clear()
        reluctance = self._reluctance()
        pause = min(seconds, ASK_EVERY) if self._waiting else seconds
        await _either(self._ask_now, pause + (0.0 if reluctance == math.inf else reluctance))


def _until_renewed(refused: StaleOwner) -> float:
    """Return for how long the holder of a lease has no reason to renew it, within bounds.

    A renewal that is seen late makes a takeover late, so questions are frequent when one is due.
    """
    until_due = refused.left - refused.length * (1.0 - 1.0 / RENEWALS)
    return min(max(until_due - ASK_EVERY, ASK_EVERY), ASK_SELDOM)


async def _either(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event, or for so long."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()

"""Keys beside a journal on a server: what counts while that server is away, and afterwards."""

import asyncio
import json
import threading
import time
from collections.abc import Iterator, Sequence

import msgspec
import pytest

from evenmatch.config.server import ServerSettings
from evenmatch.engine.state.state import Tables
from evenmatch.errors import JournalUnavailable, StaleOwner
from evenmatch.journals.store import Document, MemoryStore, Note, StoredMemory, StoredNote
from evenmatch.journals.store_thread import NOTES_WAITING, StoreThread
from evenmatch.server.auth.accounts import UNSEEN_MAX, Accounts
from evenmatch.server.auth.audit import AuditLog
from evenmatch.server.auth.keys import ServiceKey, encode_keys, new_key
from evenmatch.server.auth.principal import LOCAL
from evenmatch.server.operations.versions import KEPT, RELOAD, UNDONE, StoredConfiguration, Versions
from tests.waiting import wait_until


class AwayStore(MemoryStore):
    """A store that can be away; an answer of `add` can be lost."""

    is_away = False
    loses_answers = False
    looks = 0

    async def get(self, name: str) -> Document | None:
        self.looks += 1
        self._check()
        return await super().get(name)

    async def put(self, name: str, body: bytes, expected: str | None = None) -> str | None:
        self._check()
        return await super().put(name, body, expected)

    async def add(self, series: str, notes: Sequence[Note]) -> None:
        self._check()
        await super().add(series, notes)
        if self.loses_answers:
            self.loses_answers = False
            raise JournalUnavailable("the answer was lost")

    async def notes(self, after: int | None, most: int) -> list[StoredNote]:
        self._check()
        return await super().notes(after, most)

    def _check(self) -> None:
        if self.is_away:
            raise JournalUnavailable("the store is away")


class Place:
    """A store, its thread, and a clock."""

    def __init__(self) -> None:
        self.store = AwayStore(StoredMemory())
        self.now = 100.0
        self.thread = StoreThread(lambda: self.store, look_every=0.01, clock=lambda: self.now)
        self.accounts: list[Accounts] = []

    def keep(self, *keys: ServiceKey) -> None:
        asyncio.run(MemoryStore(self.store.shelf).put("keys.json", encode_keys(keys)))

    def open(self, **settings: bool) -> Accounts:
        self.accounts.append(Accounts(ServerSettings(**settings), store=self.thread))
        return self.accounts[-1]

    def looked(self) -> None:
        """Wait until the thread has looked again, whatever came of it."""
        before = self.store.looks
        wait_until(lambda: self.store.looks >= before + 2)


@pytest.fixture
def place() -> Iterator[Place]:
    made = Place()
    yield made
    made.store.is_away = False
    made.thread.close()


def made_key(name: str) -> tuple[ServiceKey, str]:
    return new_key(name, ("read",), now=time.time())


def counts(accounts: Accounts, text: str) -> bool:
    return accounts.ring.principal(text, time.time()) is not None


def test_known_keys_count_while_the_store_is_away(place: Place) -> None:
    key, text = made_key("backend")
    place.keep(key)
    accounts = place.open()
    assert accounts.is_keyed
    place.store.is_away = True
    place.looked()
    place.now += UNSEEN_MAX - 1.0
    assert not accounts.reload()
    assert counts(accounts, text)
    assert accounts.is_keyed


def test_keys_that_nobody_has_seen_for_an_hour_count_no_more_until_the_store_answers(
    place: Place,
) -> None:
    key, text = made_key("backend")
    place.keep(key)
    accounts = place.open()
    place.store.is_away = True
    place.looked()
    place.now += UNSEEN_MAX + 1.0
    assert accounts.reload()
    assert not counts(accounts, text)
    assert accounts.is_keyed, "a server that has keys opens to nobody"
    assert not accounts.reload()
    place.store.is_away = False
    wait_until(lambda: place.thread.age("keys.json") == 0.0)
    assert accounts.reload()
    assert counts(accounts, text)


def test_keys_that_are_gone_or_damaged_leave_the_old_ones(place: Place) -> None:
    key, text = made_key("backend")
    place.keep(key)
    accounts = place.open()
    for body in (b"{", None):
        if body is None:
            del place.store.shelf.documents["keys.json"]
        else:
            asyncio.run(MemoryStore(place.store.shelf).put("keys.json", body))
        place.looked()
        assert not accounts.reload()
        assert counts(accounts, text)
        assert accounts.is_keyed
    assert "keys unreadable" in {each.action for each in accounts.audit.page(None).entries}


def test_first_key_closes_an_open_server(place: Place) -> None:
    accounts = place.open()
    assert not accounts.is_keyed
    key, text = made_key("backend")
    place.keep(key)
    wait_until(accounts.reload)
    assert accounts.is_keyed
    assert counts(accounts, text)


def test_server_does_not_start_while_nobody_can_say_whether_it_has_keys(place: Place) -> None:
    place.store.is_away = True
    with pytest.raises(JournalUnavailable, match="is away"):
        place.open()


def test_guests_have_one_secret_at_all_servers(place: Place) -> None:
    one, two = place.open(guests=True), place.open(guests=True)
    audience = one.verifiers.keys()
    assert audience == two.verifiers.keys()
    token = one.guest().token.encode()
    (verifier,) = two.verifiers.values()
    assert verifier.principal(token, time.time()).token_facts.is_guest


def test_entries_wait_for_the_store_and_come_in_their_order_once(place: Place) -> None:
    audit = AuditLog(None, store=place.thread, wall=lambda: 7.0)
    audit.note(LOCAL, "one", status=200)
    place.store.is_away = True
    for action in ("two", "three"):
        audit.note(LOCAL, action)
    with pytest.raises(JournalUnavailable):
        audit.page(None)
    place.store.loses_answers = True
    place.store.is_away = False
    wait_until(lambda: not place.store.loses_answers)
    entries = audit.page(None).entries
    assert [(each.seq, each.action) for each in entries] == [(1, "one"), (2, "two"), (3, "three")]
    assert (entries[0].status, entries[0].at) == (200, 7.0)
    assert audit.page(1, 1).entries == entries[1:2]
    assert audit.page(3).next == 3
    raw = [json.loads(note.body) for note in asyncio.run(place.store.notes(None, 10))]
    assert not any("seq" in each for each in raw)


def test_oldest_entries_are_lost_when_too_many_wait(place: Place) -> None:
    place.store.is_away = True
    for number in range(NOTES_WAITING + 7):
        place.thread.note("audit", b"{%d" % number)
    assert place.thread.lost == 7
    place.store.is_away = False
    wait_until(lambda: len(asyncio.run(MemoryStore(place.store.shelf).notes(0, 10))) == 10)
    assert asyncio.run(MemoryStore(place.store.shelf).notes(0, 1))[0].body == b"{7"


def test_last_entries_are_stored_at_the_end(place: Place) -> None:
    accounts = place.open()
    for _ in range(3):
        accounts.audit.note_failure("192.0.2.1", "expired")
    accounts.close()
    notes = asyncio.run(MemoryStore(place.store.shelf).notes(None, 10))
    assert [json.loads(each.body).get("count", 1) for each in notes] == [1, 2]
    assert not any(each.name == "store" and each.is_alive() for each in threading.enumerate())
    accounts.close()
    with pytest.raises(JournalUnavailable, match="closed"):
        place.thread.get("keys.json")


def stored(version: int) -> StoredConfiguration:
    return StoredConfiguration(version, 1.0, "PUT /v1/config", "base", {"seed": version})


def write(versions: Versions, version: StoredConfiguration) -> None:
    asyncio.run(versions.write(version))


def set_aside(versions: Versions, version: int) -> None:
    asyncio.run(versions.set_aside(version))


def at(version: int, by: str) -> Tables:
    return Tables(version=version, configured_by=by)


def test_configurations_are_found_by_the_next_server(place: Place) -> None:
    one = Versions(None, place.thread)
    assert one.read(1) is None
    for version in range(2, KEPT + 4):
        write(one, stored(version))
    two = Versions(None, place.thread)
    assert two.read(KEPT + 3) == stored(KEPT + 3).with_digest()
    assert two.in_force(at(KEPT + 3, "PUT /v1/config")) == stored(KEPT + 3).with_digest()
    assert two.read(3) is None, "the oldest give way"
    set_aside(two, KEPT + 3)
    assert two.read(KEPT + 3) is None
    three = Versions(None, place.thread)
    assert three.in_force(at(KEPT + 3, "PUT /v1/config")) is None
    kept = three.read(KEPT + 3)
    assert kept is not None
    assert (kept.by, kept.config) == (UNDONE, {"seed": KEPT + 3})
    place.store.is_away = True
    with pytest.raises(JournalUnavailable):
        write(three, stored(KEPT + 4))
    with pytest.raises(JournalUnavailable):
        three.read(KEPT + 4)
    # What was read or written before needs nobody.
    assert one.read(KEPT + 3) == stored(KEPT + 3)


def test_what_was_not_set_by_what_the_journal_names_is_not_in_force(place: Place) -> None:
    versions = Versions(None, place.thread)
    write(versions, stored(2))
    write(versions, msgspec.structs.replace(stored(3), by=RELOAD))
    assert versions.in_force(at(2, "PUT /v1/queues/duel/policy")) is None
    assert versions.in_force(at(2, "")) is None, "the CONFIG file was brought into force"
    assert versions.in_force(at(3, "")) is not None, "that file was read again"


class Owner:
    """Confirms that a shard is still its own, until somebody takes it over at that moment."""

    def __init__(self, versions: Versions) -> None:
        self.versions = versions
        self.is_stale = False
        self.meanwhile = list[tuple[Versions, StoredConfiguration]]()
        versions.confirm = self.confirm

    async def confirm(self) -> None:
        if self.is_stale:
            raise StaleOwner("another owner has the shard")
        while self.meanwhile:
            versions, version = self.meanwhile.pop()
            await versions.write(version)
            self.is_stale = True


def test_server_that_lost_its_shard_writes_and_takes_back_no_configuration(place: Place) -> None:
    old, new = Owner(Versions(None, place.thread)), Versions(None, place.thread)
    write(old.versions, stored(2))
    old.is_stale = True
    for work in (old.versions.write(stored(3)), old.versions.set_aside(2)):
        with pytest.raises(StaleOwner):
            asyncio.run(work)
    assert new.read(3) is None
    assert new.read(2) == stored(2).with_digest()


@pytest.mark.parametrize("is_there", [False, True], ids=["new", "left over"])
def test_server_paused_after_it_asked_replaces_nothing_of_its_successor(
    place: Place, is_there: bool
) -> None:
    old, new = Owner(Versions(None, place.thread)), Versions(None, place.thread)
    if is_there:
        write(old.versions, stored(3))
    theirs = msgspec.structs.replace(stored(3), config={"seed": 99})
    # The journal has just said yes when the old owner is paused; the next one writes meanwhile.
    old.meanwhile.append((new, theirs))
    with pytest.raises(StaleOwner):
        write(old.versions, stored(3))
    assert Versions(None, place.thread).read(3) == theirs.with_digest()


def test_owner_looks_anew_where_a_paused_server_still_wrote(place: Place) -> None:
    versions, late = Versions(None, place.thread), Versions(None, place.thread)
    ours = msgspec.structs.replace(stored(3), config={"seed": 99})
    asked = list[int]()

    async def confirm() -> None:
        if not asked:
            await late.write(stored(3))
        asked.append(1)

    versions.confirm = confirm
    write(versions, ours)
    assert len(asked) == 2
    assert Versions(None, place.thread).read(3) == ours.with_digest()

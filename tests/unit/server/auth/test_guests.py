"""Games without a backend: a device gets a player's token from the server itself."""

import stat
from pathlib import Path

from evenmatch.config.server import ServerLimits
from evenmatch.model.queue import Queue, Rule
from tests.callers import Site, call, duel, token, with_site


def test_guest_plays_and_renews_his_token(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        guest = await site.call("POST", "/v1/guests")
        assert guest.status == 201
        player, key = guest.body["player"], guest.body["token"]
        assert (await site.call("POST", "/v1/tickets", duel(player), key=key)).status == 201
        assert (await site.call("POST", "/v1/tickets", duel("ann"), key=key)).status == 403
        again = await site.call("POST", "/v1/guests", key=key)
        assert again.body["player"] == player
        other = await site.call("POST", "/v1/guests", key=token("ann"))
        assert other.body["player"] not in (player, "ann"), "only guests are renewed"
        assert (await site.call("GET", "/v1/queues", key=again.body["token"])).status == 200

    with_site(tmp_path, scene, guests=True)
    secret = tmp_path / "guests.secret"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert len(secret.read_bytes()) == 32


def test_guests_survive_a_restart(tmp_path: Path) -> None:
    kept: list[str] = []

    async def first(site: Site) -> None:
        kept.append((await site.call("POST", "/v1/guests")).body["token"])

    async def second(site: Site) -> None:
        assert (await site.call("GET", "/v1/queues", key=kept[0])).status == 200

    with_site(tmp_path, first, guests=True)
    with_site(tmp_path, second, guests=True)


def test_one_address_gets_so_many_guests(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        replies = [await site.call("POST", "/v1/guests", client="2001:db8::1") for _ in range(2)]
        replies.append(await site.call("POST", "/v1/guests", client="2001:db8::2"))
        assert [reply.status for reply in replies] == [201, 201, 429]
        assert int(replies[-1].headers["retry-after"]) > 1_000
        lie = {"x-forwarded-for": "203.0.113.5"}
        refused = await site.call("POST", "/v1/guests", client="2001:db8::1", headers=lie)
        assert refused.status == 429, "nobody believes an address that the caller wrote"
        behind = {"client": "10.0.0.1", "headers": lie}
        assert (await site.call("POST", "/v1/guests", **behind)).status == 201

    with_site(tmp_path, scene, guests=True, limits=ServerLimits(guests_max=2),
              trusted_proxies=("10.0.0.0/8",))  # fmt: skip


def test_guest_renews_his_token_where_an_address_has_all_its_guests(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        first = await site.call("POST", "/v1/guests")
        assert (await site.call("POST", "/v1/guests")).status == 429
        for _ in range(3):
            again = await site.call("POST", "/v1/guests", key=first.body["token"])
            assert (again.status, again.body["player"]) == (201, first.body["player"])
        # Somebody else's player would be a new guest.
        assert (await site.call("POST", "/v1/guests", key=token("ann"))).status == 429

    with_site(tmp_path, scene, guests=True, limits=ServerLimits(guests_max=1))


def test_foreign_web_page_gets_no_guest(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        for origin, status in (
            ("https://evil.example", 403), ("https://my-game.example", 201),
            ("https://game.example", 201), ("null", 403),
        ):  # fmt: skip
            reply = await site.call("POST", "/v1/guests", headers={"origin": origin})
            assert reply.status == status, origin

    with_site(tmp_path, scene, guests=True, origins=("https://my-game.example",))


def test_guests_are_refused_where_they_are_not_wanted(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        assert (await site.call("POST", "/v1/guests")).status == 501

    with_site(tmp_path, scene)


def test_friends_meet_by_a_code(tmp_path: Path) -> None:
    queue = Queue(name="friends", policy="greedy", rules=(Rule("same", "code"),))

    async def scene(site: Site) -> None:
        made = []
        for code in ("red", "blue", "red"):
            guest = (await call(site.gate, "POST", "/v1/guests")).body
            body = {"players": [{"id": guest["player"], "attributes": {"code": code}}]}
            made.append(await site.call("POST", "/v1/tickets", body, key=guest["token"]))
        assert [reply.body["state"] for reply in made] == ["waiting", "waiting", "matched"]

    with_site(tmp_path, scene, guests=True, queues=(queue,))

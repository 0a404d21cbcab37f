"""Who gets in, and what a caller may then see: the gate before a real application."""

import base64
import hmac
import json
import re
import time
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.config.server import ServerLimits, Tokens
from evenmatch.errors import ConfigError
from evenmatch.server.auth import accounts as accounts_module
from evenmatch.server.auth import authenticate as gate_module
from evenmatch.server.auth.authenticate import Authenticator
from evenmatch.server.auth.keys import read_keys, write_keys
from evenmatch.server.auth.principal import Unauthenticated
from tests.callers import (
    AUDIENCE,
    SECRET,
    Site,
    add_key,
    call,
    duel,
    random_secret,
    token,
    with_site,
)
from tests.extent import extent


def part(value: Any) -> str:
    """Return a part of a token."""
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def claims(**more: Any) -> dict[str, Any]:
    now = int(time.time())
    return {"sub": "ann", "aud": AUDIENCE, "iat": now, "exp": now + 600, **more}


def signed(head: Any, payload: Any, secret: bytes = SECRET) -> str:
    """Return a token with any header and payload, and a signature that fits."""
    text = f"{part(head)}.{part(payload)}"
    digest = hmac.digest(secret, text.encode(), "sha256")
    return f"{text}.{base64.urlsafe_b64encode(digest).decode().rstrip('=')}"


NONE_TOKEN = f"{part({'alg': 'none', 'typ': 'JWT'})}.{part(claims())}."
GOOD = token("ann")
HEAD, BODY, SIGN = GOOD.split(".")
DEEP = f"{part({'alg': 'HS256'})}.{base64.urlsafe_b64encode(b'[' * 5000).decode()}.{SIGN}"
FORGED = {
    "empty": "",
    "a word": "letmein",
    "a key that nobody made": "em_0123456789ab_" + "x" * 43,
    "alg none": NONE_TOKEN,
    "alg none in other letters": NONE_TOKEN.replace(part({"alg": "none", "typ": "JWT"}),
                                                    part({"alg": "nOnE"})),
    "another secret": token("ann", secret=random_secret()),
    "another algorithm": token("ann", secret=b"k" * 64, algorithm="HS512"),
    "altered payload": f"{HEAD}.{part(claims(sub='bob'))}.{SIGN}",
    "altered signature": f"{HEAD}.{BODY}.{SIGN[:-2]}{'AA' if SIGN[-2:] != 'AA' else 'BB'}",
    "no signature": f"{HEAD}.{BODY}.",
    "two parts": f"{HEAD}.{BODY}",
    "four parts": f"{GOOD}.{SIGN}",
    "foreign audience": token("ann", aud="another-game"),
    "no audience": token("ann", aud=None),
    "no expiry": token("ann", exp=None),
    "expiry as text": signed({"alg": "HS256"}, claims(exp="never")),
    "expiry beyond all numbers": signed({"alg": "HS256"}, claims(exp=10**400)),
    "audience as a number": signed({"alg": "HS256"}, claims(aud=7)),
    "payload of another kind": signed({"alg": "HS256"}, ["ann"]),
    "no player": token("ann", sub=None),
    "empty player": token(""),
    "line break in the player": token("ann\nbob"),
    "endless player": token("a" * 129),
    "deep payload": DEEP,
    "critical header": signed({"alg": "HS256", "crit": ["x"], "x": 1}, claims()),
    "detached payload": signed({"alg": "HS256", "b64": False, "crit": ["b64"]}, claims()),
    "no algorithm": signed({"typ": "JWT"}, claims()),
    "algorithm as a list": signed({"alg": ["HS256"]}, claims()),
    "a key of its own": signed({"alg": "HS256", "jwk": {"kty": "oct", "k": "AA"}}, claims(),
                               secret=b"\0" * 32),
    "too long": token("ann", attributes={"mode": "m" * 9_000}),
    "padding": GOOD + "=",
    "NaN rating": token("ann", rating={"mean": float("nan")}),
    "rating as a list": token("ann", rating=[1500]),
}  # fmt: skip


@pytest.mark.parametrize("credential", FORGED.values(), ids=FORGED.keys())
def test_forged_credential_changes_nothing(tmp_path: Path, credential: str) -> None:
    async def scene(site: Site) -> None:
        before = site.parts.runtime.engine.tables.sequence
        reply = await site.call("POST", "/v1/tickets", duel("ann"), key=credential)
        assert (reply.status, reply.body["error"]) == (401, "unauthenticated")
        assert reply.headers["www-authenticate"].startswith("Bearer")
        assert site.parts.runtime.engine.tables.sequence == before

    with_site(tmp_path, scene)


def test_token_is_let_in_that_is_signed_by_hand(tmp_path: Path) -> None:
    """The forged ones above fail for what is wrong with them, not for how they are made."""

    async def scene(site: Site) -> None:
        good = signed({"alg": "HS256"}, claims())
        assert (await site.call("GET", "/v1/queues", key=good)).status == 200

    with_site(tmp_path, scene)


def test_token_with_any_letter_altered_is_refused(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        for at in range(len(GOOD)):
            for letter in ("A", "Q", ".", "-"):
                altered = GOOD[:at] + letter + GOOD[at + 1 :]
                if altered != GOOD:
                    reply = await site.call("GET", "/v1/queues", key=altered)
                    assert reply.status == 401, (at, letter)
        assert (await site.call("GET", "/v1/queues", key=GOOD)).status == 200

    with_site(tmp_path, scene, limits=ServerLimits(failures_max=1_000_000))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return Site(tmp_path_factory.mktemp("gate"))


@settings(max_examples=extent(50, 200), deadline=None)
@given(st.binary(max_size=300), st.sampled_from([b"", b"Bearer ", b"Bearer em_", b"bearer a.b."]))
def test_no_header_makes_the_gate_fail(site: Site, noise: bytes, start: bytes) -> None:
    gate = Authenticator([site.entrance])
    scope = {"type": "http", "path": "/v1/queues", "headers": [(b"authorization", start + noise)]}
    with pytest.raises(Unauthenticated):
        gate._admit(scope)


@pytest.mark.parametrize(
    ("times", "words"),
    [
        ({"exp": -11}, "exp says that it has expired"),
        ({"nbf": 60}, "nbf is a later time"),
        ({"iat": 60}, "iat is a later time"),
        ({"exp": 90_000}, "exp is more than 86400 s ahead"),
    ],
)
def test_token_of_another_time_is_refused_with_the_reason(
    tmp_path: Path, times: dict[str, int], words: str
) -> None:
    now = int(time.time())
    moved = {name: now + seconds for name, seconds in times.items()}

    async def scene(site: Site) -> None:
        reply = await site.call("POST", "/v1/tickets", duel("ann"), key=token("ann", **moved))
        assert reply.status == 401
        assert words in reply.body["message"]

    with_site(tmp_path, scene)


@pytest.mark.parametrize(
    ("credential", "words", "reason"),
    [
        (
            token("ann", aud="another-game"),
            "token's aud is missing or does not",
            "foreign_audience",
        ),
        (token("ann", aud=None), "token's aud is missing", "foreign_audience"),
        (token("ann", exp=None), "token's exp is missing or of another kind", "bad_exp"),
        (
            signed({"alg": "HS256"}, claims(exp="never")),
            "token's exp is missing or of another kind",
            "bad_exp",
        ),
        (token("ann", sub=None), "token's sub is missing or of another kind", "bad_sub"),
        (token("ann", rating={"deviation": 9}), "token's rating is missing or", "bad_rating"),
        (token(""), "token's sub is no player's id", "bad_player"),
        (token("ann", party=[""]), "token's party names", "bad_party"),
        (token("ann", secret=b"k" * 64, algorithm="HS512"), "token's alg", "foreign_algorithm"),
        (NONE_TOKEN, "token's alg in the header is not the algorithm", "foreign_algorithm"),
        (
            token("ann", secret=random_secret()),
            "the key or token is not valid here",
            "bad_signature",
        ),
        ("letmein", "the key or token is not valid here", "malformed"),
    ],
    # Tokens say when they were made, which differs from process to process: names must not.
    ids=[
        "other audience",
        "no audience",
        "no end",
        "end is text",
        "no player",
        "rating without mean",
        "empty player",
        "empty party member",
        "other algorithm",
        "no algorithm",
        "other secret",
        "no token",
    ],
)
def test_claim_that_is_wrong_is_named_to_the_caller_and_in_the_audit_log(
    tmp_path: Path, credential: str, words: str, reason: str
) -> None:
    service = add_key(tmp_path)

    async def scene(site: Site) -> None:
        reply = await site.call("GET", "/v1/queues", key=credential)
        assert reply.status == 401
        assert words in reply.body["message"]
        assert AUDIENCE not in reply.body["message"]
        assert "HS256" not in reply.body["message"]
        entries = (await site.call("GET", "/v1/audit", key=service)).body["entries"]
        assert [entry["detail"] for entry in entries] == [reason]

    with_site(tmp_path, scene)


def test_header_without_the_word_bearer_is_told_what_to_send(tmp_path: Path) -> None:
    service = add_key(tmp_path)

    async def scene(site: Site) -> None:
        reply = await site.call("GET", "/v1/queues", headers={"authorization": service})
        assert reply.status == 401
        assert "must read Authorization: Bearer KEY" in reply.body["message"]
        assert service not in reply.body["message"]

    with_site(tmp_path, scene)


def test_token_of_another_issuer_is_told_so(tmp_path: Path) -> None:
    secret = tmp_path / "issuer.secret"
    secret.write_bytes(SECRET)
    wanted = Tokens("HS256", (str(secret),), AUDIENCE, "https://login.example")

    async def scene(site: Site) -> None:
        for claim in ({}, {"iss": "https://evil.example"}):
            reply = await site.call("GET", "/v1/queues", key=token("ann", **claim))
            assert reply.status == 401
            assert "token's iss is missing or names another issuer" in reply.body["message"]
            assert "login" not in reply.body["message"]
        good = token("ann", iss="https://login.example")
        assert (await site.call("GET", "/v1/queues", key=good)).status == 200

    with_site(tmp_path, scene, tokens=wanted)


def test_clocks_may_differ_by_the_leeway(tmp_path: Path) -> None:
    now = int(time.time())

    async def scene(site: Site) -> None:
        late = token("ann", exp=now - 5)
        early = token("bob", iat=now + 5, nbf=now + 5)
        for player, each in (("ann", late), ("bob", early)):
            assert (await site.call("POST", "/v1/tickets", duel(player), key=each)).status == 201

    with_site(tmp_path, scene)


def test_token_that_expires_is_not_remembered_longer(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        now = time.time()
        clock = [now]
        gate = Authenticator([site.entrance], wall=lambda: clock[0])
        short = token("ann", exp=int(now) + 60)
        assert (await call(gate, "GET", "/v1/queues", key=short)).status == 200
        clock[0] = now + 75.0
        assert (await call(gate, "GET", "/v1/queues", key=short)).status == 401

    with_site(tmp_path, scene)


def test_key_and_token_are_let_in_and_nobody_is_not(tmp_path: Path) -> None:
    service = add_key(tmp_path)

    async def scene(site: Site) -> None:
        assert (await site.call("POST", "/v1/tickets", duel("a"))).status == 401
        assert (await site.call("POST", "/v1/tickets", duel("a"), key=service)).status == 201
        assert (await site.call("POST", "/v1/tickets", duel("b"), key=token("b"))).status == 201
        basic = {"authorization": f"Basic {service}"}
        assert (await site.call("GET", "/v1/queues", headers=basic)).status == 401
        small = {"authorization": f"bearer {service}"}
        assert (await site.call("GET", "/v1/queues", headers=small)).status == 200
        for path in ("/healthz", "/readyz", "/openapi.json", "/"):
            assert (await site.call("GET", path)).status == 200, path

    with_site(tmp_path, scene)


def test_revoked_key_ends_without_a_restart_and_cuts_its_streams(tmp_path: Path) -> None:
    first, second = add_key(tmp_path, "one"), add_key(tmp_path, "two")

    async def scene(site: Site) -> None:
        assert (await site.call("GET", "/v1/queues", key=first)).status == 200
        follower = site.parts.followers.admit()
        path = tmp_path / "keys.json"
        one, two = read_keys(path)
        revoked = time.time()
        write_keys(path, (type(one)(**{**_fields(one), "revoked": revoked}), two))
        assert (await site.call("GET", "/v1/queues", key=first)).status == 200, "not looked yet"
        site.gate.look()
        assert follower.is_cut
        assert (await site.call("GET", "/v1/queues", key=first)).status == 401
        assert (await site.call("GET", "/v1/queues", key=second)).status == 200
        page = (await site.call("GET", "/v1/audit", key=second)).body
        assert f"revoked one ({one.id})" in page["entries"][-2]["detail"]

    with_site(tmp_path, scene)


def test_each_gate_of_the_same_accounts_takes_a_revoked_key_in(tmp_path: Path) -> None:
    service, other = add_key(tmp_path, "one"), add_key(tmp_path, "two")

    async def scene(site: Site) -> None:
        cut: list[str] = []
        gates = [
            Authenticator(
                [msgspec.structs.replace(site.entrance, keys_changed=lambda n=name: cut.append(n))]
            )
            for name in ("first", "second")
        ]
        for gate in gates:
            assert (await call(gate, "GET", "/v1/queues", key=service)).status == 200
        one, two = read_keys(tmp_path / "keys.json")
        write_keys(tmp_path / "keys.json", (type(one)(**{**_fields(one), "revoked": 1.0}), two))
        # One of them alone sees that the file has changed.
        for gate in gates * 2:
            gate.look()
        assert cut == ["first", "second"]
        for gate in gates:
            assert (await call(gate, "GET", "/v1/queues", key=service)).status == 401
            assert (await call(gate, "GET", "/v1/queues", key=other)).status == 200

    with_site(tmp_path, scene)


def _fields(key: Any) -> dict[str, Any]:
    return {name: getattr(key, name) for name in key.__struct_fields__}


def test_damaged_file_of_keys_leaves_the_old_ones(tmp_path: Path) -> None:
    service = add_key(tmp_path)

    async def scene(site: Site) -> None:
        (tmp_path / "keys.json").write_text("{")
        site.gate.look()
        assert (await site.call("GET", "/v1/queues", key=service)).status == 200
        (tmp_path / "keys.json").unlink()
        site.gate.look()
        assert (await site.call("GET", "/v1/queues", key=service)).status == 200
        assert (await site.call("GET", "/v1/queues")).status == 401

    with_site(tmp_path, scene)


def test_first_key_closes_an_open_server(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        local = {"host": "127.0.0.1"}
        assert (await site.call("GET", "/v1/queues", headers=local)).status == 200
        service = add_key(tmp_path)
        site.gate.look()
        assert (await site.call("GET", "/v1/queues", headers=local)).status == 401
        assert (await site.call("GET", "/v1/queues", key=service)).status == 200

    with_site(tmp_path, scene, tokens=None)


def test_expired_key_counts_no_more(tmp_path: Path) -> None:
    service = add_key(tmp_path, expires=time.time() + 100.0)

    async def scene(site: Site) -> None:
        now = time.time()
        clock = [now]
        gate = Authenticator([site.entrance], wall=lambda: clock[0])
        assert (await call(gate, "GET", "/v1/queues", key=service)).status == 200
        clock[0] = now + 101.0
        assert (await call(gate, "GET", "/v1/queues", key=service)).status == 401

    with_site(tmp_path, scene)


def test_expiry_of_a_key_cuts_its_streams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expires = time.time() + 3_600.0
    add_key(tmp_path, "short", expires=expires)
    other = add_key(tmp_path, "long")
    log = Mock()
    monkeypatch.setattr(accounts_module, "log", log)

    async def scene(site: Site) -> None:
        follower = site.parts.followers.admit()
        site.gate.look()
        assert not follower.is_cut
        monkeypatch.setattr(site.entrance.accounts, "_wall", lambda: expires + 1.0)
        site.gate.look()
        assert follower.is_cut
        entries = (await site.call("GET", "/v1/audit", key=other)).body["entries"]
        assert entries[-1]["action"] == "keys expired"
        assert entries[-1]["detail"].startswith("short (")
        # Whoever looks for why a backend is refused looks into the log first.
        log.warning.assert_called_once()
        assert log.warning.call_args.args == ("keys_expired",)
        assert log.warning.call_args.kwargs["keys"][0].startswith("short (")
        # A clock that is set back makes it live again, of which there is nothing to tell.
        monkeypatch.setattr(site.entrance.accounts, "_wall", lambda: expires - 1.0)
        site.gate.look()
        log.warning.assert_called_once()

    with_site(tmp_path, scene)


def test_refusals_are_counted_by_their_reason(tmp_path: Path) -> None:
    reader = add_key(tmp_path, "board", "read")

    async def scene(site: Site) -> None:
        await site.call("GET", "/v1/queues", key="nonsense")
        await site.call("GET", "/v1/queues", key=token("ann", aud="another-game"))
        await site.call("GET", "/v1/queues", key=token("ann", exp=1))
        text = (await site.call("GET", "/metrics", key=reader)).body.decode()
        assert 'evenmatch_refused_callers_total{reason="expired"} 1.0' in text
        assert 'evenmatch_refused_callers_total{reason="foreign_audience"} 1.0' in text
        assert 'evenmatch_refused_callers_total{reason="malformed"} 1.0' in text

    with_site(tmp_path, scene)


def test_who_asks_too_often_is_told_when_to_come_again(tmp_path: Path) -> None:
    limits = ServerLimits(player_requests_max=1, player_burst_max=3)

    async def scene(site: Site) -> None:
        ann = token("ann")
        replies = [await site.call("GET", "/v1/queues", key=ann) for _ in range(4)]
        assert [reply.status for reply in replies] == [200, 200, 200, 429]
        assert replies[-1].body["error"] == "too_many_requests"
        assert int(replies[-1].headers["retry-after"]) >= 1
        assert replies[-1].body["seconds"] == float(replies[-1].headers["retry-after"])
        again = token("ann", iat=int(time.time()) - 1)
        assert (await site.call("GET", "/v1/queues", key=again)).status == 429, "a new token"
        assert (await site.call("GET", "/v1/queues", key=token("bob"))).status == 200

    with_site(tmp_path, scene, limits=limits)


def test_address_that_guesses_is_turned_away_and_others_are_not(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        known = token("ann")
        assert (await site.call("GET", "/v1/queues", key=known)).status == 200
        statuses = [
            (await site.call("GET", "/v1/queues", key=f"guess {i}")).status for i in range(5)
        ]
        assert statuses == [401, 401, 401, 429, 429]
        assert (await site.call("GET", "/v1/queues", key=known)).status == 200, "known already"
        other = await site.call("GET", "/v1/queues", key=token("bob"), client="192.0.2.2")
        assert other.status == 200

    with_site(tmp_path, scene, limits=ServerLimits(failures_max=3))


def test_remembered_credentials_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate_module, "KNOWN_MAX", 4)

    async def scene(site: Site) -> None:
        tokens = [token(f"p{i}") for i in range(9)]
        for each in (*tokens, *tokens):
            assert (await site.call("GET", "/v1/queues", key=each)).status == 200
        assert len(site.gate._known) == 4

    with_site(tmp_path, scene)


def test_games_of_one_process_share_nothing(tmp_path: Path) -> None:
    chess_key = add_key(tmp_path / "chess")
    add_key(tmp_path / "go")

    async def scene(site: Site) -> None:
        chess = Site(tmp_path / "chess", tenant="chess", audience="chess", player_attributes=())
        go = Site(tmp_path / "go", tenant="go", audience="go")
        gate = Authenticator([chess.entrance, go.entrance])
        for each in (chess, go):
            await each.parts.runtime.start()
        made = await call(gate, "POST", "/v1/tickets", duel("ann"), key=token("ann", aud="chess"))
        assert made.status == 201
        path = f"/v1/tickets/{made.body['id']}"
        assert (await call(gate, "GET", path, key=chess_key)).status == 200
        other = await call(gate, "GET", path, key=token("ann", aud="go"))
        assert (other.status, other.body["error"]) == (404, "unknown_ticket")
        assert not go.parts.runtime.engine.tables.waiting
        assert len(chess.parts.runtime.engine.tables.waiting) == 1
        strange = await call(gate, "GET", "/v1/queues", key=token("ann", aud="shogi"))
        unsigned = await call(gate, "GET", "/v1/queues", key=token("x", aud="go", secret=b"z" * 32))
        assert (strange.status, strange.body) == (unsigned.status, unsigned.body)
        assert (await call(gate, "GET", "/readyz")).body == {"status": "ready"}
        for each in (chess, go):
            await each.parts.runtime.stop()

    with_site(tmp_path / "unused", scene)


def test_process_of_several_games_is_not_ready_while_all_of_them_drain(tmp_path: Path) -> None:
    for name in ("chess", "go"):
        add_key(tmp_path / name)

    async def scene(site: Site) -> None:
        chess = Site(tmp_path / "chess", tenant="chess", audience="chess")
        go = Site(tmp_path / "go", tenant="go", audience="go")
        gate = Authenticator([chess.entrance, go.entrance])
        for each in (chess, go):
            await each.parts.runtime.start()
        chess.parts.drain.begin(600.0)
        # The other one takes tickets.
        assert (await call(gate, "GET", "/readyz")).status == 200
        go.parts.drain.begin(600.0)
        assert (await call(gate, "GET", "/readyz"))[:2] == (503, {"status": "draining"})
        chess.parts.drain.end()
        assert (await call(gate, "GET", "/readyz")).status == 200
        for each in (chess, go):
            await each.parts.runtime.stop()

    with_site(tmp_path / "unused", scene)


def test_games_learn_nothing_of_who_is_turned_away_from_another(tmp_path: Path) -> None:
    chess_key = add_key(tmp_path / "chess")
    add_key(tmp_path / "go")

    async def scene(site: Site) -> None:
        limits = ServerLimits(key_requests_max=0.01, key_burst_max=3)
        chess = Site(tmp_path / "chess", tenant="chess", audience="chess", limits=limits)
        go = Site(tmp_path / "go", tenant="go", audience="go")
        gate = Authenticator([chess.entrance, go.entrance])

        def told(of: Site) -> tuple[set[str], set[str]]:
            text = of.parts.metrics.text().decode()
            reasons = set(re.findall(r'refused_callers_total\{reason="(\w+)"\} [1-9]', text))
            failed = "authentication failed"
            entries = of.accounts.audit.page(None).entries
            return reasons, {each.who for each in entries if each.action == failed}

        for _ in range(5):
            await call(gate, "GET", "/v1/queues", key=chess_key)
        expired = token("ann", aud="chess", exp=1)
        await call(gate, "GET", "/v1/queues", key=expired, client="192.0.2.7")
        assert told(chess) == ({"too_many_requests", "expired"}, {"192.0.2.7"})
        assert told(go) == (set(), set())
        # Nobody knows which game these mean.
        await call(gate, "GET", "/v1/queues", key="em_0_0", client="192.0.2.8")
        forged = token("ann", aud="chess", secret=b"z" * 32)
        await call(gate, "GET", "/v1/queues", key=forged, client="192.0.2.9")
        assert told(go) == ({"unknown_key", "bad_signature"}, {"192.0.2.8", "192.0.2.9"})

    with_site(tmp_path / "unused", scene)


def test_games_that_cannot_be_told_apart_are_refused(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        same = Site(tmp_path / "same", tenant="same")
        with pytest.raises(ConfigError, match="take the same tokens"):
            Authenticator([site.entrance, same.entrance])
        bare = Site(tmp_path / "bare", tenant="bare", tokens=None)
        with pytest.raises(ConfigError, match=r"tenant bare has no keys.*ADDRESS#bare"):
            Authenticator([site.entrance, bare.entrance])

    with_site(tmp_path, scene)


def test_issuer_is_compared_where_one_is_named(tmp_path: Path) -> None:
    secret = tmp_path / "players.secret"
    secret.write_bytes(b"a secret of a test, 32 bytes long")
    tokens = Tokens("HS256", (str(secret),), AUDIENCE, issuer="https://login.example")

    async def scene(site: Site) -> None:
        good = token("ann", iss="https://login.example")
        assert (await site.call("GET", "/v1/queues", key=good)).status == 200
        for other in ("https://evil.example", None):
            bad = token("ann", iss=other)
            assert (await site.call("GET", "/v1/queues", key=bad)).status == 401

    with_site(tmp_path, scene, tokens=tokens)

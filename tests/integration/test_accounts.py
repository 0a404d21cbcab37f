"""A real server with keys: other hosts, TLS, web pages, several games, and clients that dawdle."""

import json
import re
import socket
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

from evenmatch.cli.main import main
from tests.callers import add_key
from tests.certificates import certificate_in
from tests.integration.serving import Reply, running
from tests.waiting import GIVE_UP, wait_until

QUEUE = '[[queue]]\nname = "duel"\npolicy = "greedy"\n'
SERVE = [sys.executable, "-m", "evenmatch.cli.main", "serve"]


@contextmanager
def listening(*arguments: str) -> Iterator[str]:
    process = subprocess.Popen(
        [*SERVE, *arguments, "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line, process.communicate()[1]
        yield line.split()[-1]
    finally:
        process.terminate()
        process.communicate(timeout=GIVE_UP)


def ask(url: str, *, key: str | None = None, method: str = "GET", body: Any = None,
        headers: Mapping[str, str] = {}, tls: ssl.SSLContext | None = None) -> Reply:  # fmt: skip
    more = {} if key is None else {"Authorization": f"Bearer {key}"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {**headers, **more}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=GIVE_UP, context=tls) as answer:
            text = answer.read()
            return Reply(answer.status, json.loads(text) if text[:1] in b"{[" else text,
                         answer.headers)  # fmt: skip
    except urllib.error.HTTPError as error:
        with error:
            return Reply(error.code, error.read(), error.headers)


def config_in(folder: Path, text: str = QUEUE) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(text)
    return str(folder / "config.toml")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--host", "0.0.0.0"], "make a key with: evenmatch keys add NAME --data DIR"),
        (["--tls-cert", "cert.pem"], "--tls-cert and --tls-key go together"),
        (["--tls-cert", "nowhere.pem", "--tls-key", "nowhere.pem"], "cannot be used: No such file"),
    ],
)
def test_start_that_would_let_everybody_in_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert main(["serve", config_in(tmp_path), *arguments, "--port", "0"]) == 2
    assert words in capsys.readouterr().err


def test_with_keys_it_listens_for_others_and_speaks_tls(tmp_path: Path) -> None:
    config, data = config_in(tmp_path), tmp_path / "data"
    key, (cert, private) = add_key(data), certificate_in(tmp_path)
    tls = ssl.create_default_context(cafile=cert)
    arguments = ["--data", str(data), "--host", "0.0.0.0", "--tls-cert", cert, "--tls-key", private]
    with listening(config, *arguments) as address:
        assert address.startswith("https://0.0.0.0:")
        url = address.replace("0.0.0.0", "127.0.0.1")
        elsewhere = {"Host": "match.game.example"}
        assert ask(f"{url}/v1/queues", tls=tls, headers=elsewhere).status == 401
        assert ask(f"{url}/v1/queues", key=key, tls=tls, headers=elsewhere).status == 200
        late = add_key(data, "late")
        wait_until(
            lambda: ask(f"{url}/v1/queues", key=late, tls=tls).status == 200,
            "a new key that counts without a restart",
        )


def test_renewed_certificate_is_shown_without_a_restart(tmp_path: Path) -> None:
    config, (cert, private) = config_in(tmp_path), certificate_in(tmp_path, days=-1.0)
    with listening(config, "--tls-cert", cert, "--tls-key", private) as url:
        place = ("127.0.0.1", int(url.rpartition(":")[2]))
        assert ssl.get_server_certificate(place) == Path(cert).read_text()
        trusting = ssl.create_default_context()
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        assert _seconds_left(url, trusting) < 0.0
        certificate_in(tmp_path, days=60.0)
        wait_until(
            lambda: ssl.get_server_certificate(place) == Path(cert).read_text(),
            "the renewed certificate",
        )
        assert _seconds_left(url, ssl.create_default_context(cafile=cert)) > 59.0 * 86_400.0


def _seconds_left(url: str, tls: ssl.SSLContext) -> float:
    text: bytes = ask(f"{url}/metrics", tls=tls).body
    (seconds,) = re.findall(rb"^evenmatch_certificate_seconds_left (.+)$", text, re.MULTILINE)
    return float(seconds)


def test_web_page_may_ask_with_its_token(tmp_path: Path) -> None:
    page = "https://my-game.example"
    text = f'{QUEUE}[server]\nguests = true\norigins = ["{page}"]\n'
    with listening(config_in(tmp_path, text)) as url:
        asked = {"Origin": page, "Access-Control-Request-Method": "POST",
                 "Access-Control-Request-Headers": "authorization,content-type"}  # fmt: skip
        preflight = ask(f"{url}/v1/tickets", method="OPTIONS", headers=asked)
        assert preflight.status == 200
        assert preflight.headers["access-control-allow-origin"] == page
        assert "authorization" in preflight.headers["access-control-allow-headers"].lower()
        other = ask(f"{url}/v1/tickets", method="OPTIONS",
                    headers={**asked, "Origin": "https://evil.example"})  # fmt: skip
        assert other.status == 403
        guest = ask(f"{url}/v1/guests", method="POST", headers={"Origin": page}).body
        body = {"players": [{"id": guest["player"]}]}
        made = ask(f"{url}/v1/tickets", method="POST", key=guest["token"], body=body,
                   headers={"Origin": page})  # fmt: skip
        assert made.status == 201
        assert made.headers["access-control-allow-origin"] == page
        path = f"{url}/v1/tickets/{made.body['id']}?wait=0.2"
        assert ask(path, key=guest["token"]).body["state"] == "waiting"
        assert ask(path).status == 401
        stream = url.replace("http://", "ws://") + "/v1/stream"
        offered = [Subprotocol("evenmatch"), Subprotocol(f"bearer.{guest['token']}")]
        with connect(stream, subprotocols=offered) as followed:
            assert followed.subprotocol == "evenmatch"
            followed.send(json.dumps({"follow": [made.body["id"]]}))
            assert json.loads(followed.recv(5.0))["event"] == "waiting"
        with pytest.raises(InvalidStatus, match="401"):
            connect(stream, origin=Origin(page))


def test_several_games_have_folders_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("chess", "go"):
        config_in(tmp_path / name, QUEUE.replace("duel", name))
    games = "".join(
        f'[[tenant]]\nname = "{name}"\nconfig = "{name}/config.toml"\n' for name in ("chess", "go")
    )
    file, data = tmp_path / "games.toml", tmp_path / "data"
    file.write_text(games)
    assert main(["serve", str(file), "--data", str(data)]) == 2
    assert "tenant chess has no keys" in capsys.readouterr().err
    keys = {name: add_key(data / name) for name in ("chess", "go")}
    with listening(str(file), "--data", str(data)) as url:
        for name, key in keys.items():
            assert [each["name"] for each in ask(f"{url}/v1/queues", key=key).body] == [name]
            body = {"players": [{"id": "ann"}]}
            assert ask(f"{url}/v1/tickets", method="POST", key=key, body=body).status == 201
        assert ask(f"{url}/readyz").body == {"status": "ready"}
        assert ask(f"{url}/metrics").status == 401
    for name in keys:
        assert (data / name / "journal.db").exists()


def takes_headers(connection: socket.socket, count: int) -> bool:
    """Return whether a server is still there after so many headers of 110 bytes.

    On a busy machine their time may be over first, which cuts the connection as well, or all are
    sent before it is cut, so that it can be read why.
    """
    try:
        for number in range(count):
            connection.sendall(b"X-%06d: %s\r\n" % (number, b"y" * 100))
        told = connection.recv(1000)
        return told != b"" and not told.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 408 "))
    except ConnectionError:
        return False


def test_client_that_dawdles_or_never_ends_its_headers_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENMATCH_REQUEST_SECONDS", "1")
    with running(tmp_path, QUEUE, durable=False) as server:
        head = b"POST /v1/tickets HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n"
        cases = [b"", b"GET /healthz HTTP/1.1\r\nHo", head + b"{"]
        address = ("127.0.0.1", server.port)
        slow = [socket.create_connection(address, timeout=GIVE_UP) for _ in cases]
        for connection, said in zip(slow, cases, strict=True):
            connection.sendall(said)
        for connection, said in zip(slow, cases, strict=True):
            with connection:
                # Whoever asked for nothing is told nothing.
                told = connection.recv(1000)
                assert told.startswith(b"HTTP/1.1 408 ") if said else told == b"", said
                assert connection.recv(1000) == b""
        with socket.create_connection(("127.0.0.1", server.port), timeout=GIVE_UP) as endless:
            endless.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
            assert not takes_headers(endless, 3_000), "cut"
        made = server.call("POST", "/v1/tickets", {"players": [{"id": "ann"}]})
        patient = server.call("GET", f"/v1/tickets/{made.body['id']}?wait=1.6")
        assert (patient.status, patient.body["state"]) == (200, "waiting")

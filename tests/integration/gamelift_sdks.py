"""AWS's own clients behind one small interface, so that one test may drive a server with each."""

import fcntl
import json
import shutil
import subprocess
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore import model
from botocore.exceptions import ClientError

from tests.integration.gamelift_clients import client_of
from tests.integration.serving import Server

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "gamelift"
PACKAGE = "@aws-sdk/client-gamelift@3"
FETCHED = FOLDER / "fetched"
"""Is there once npm has ended: folders are there before that."""
BRIDGE = Path(__file__).with_name("gamelift_calls.mjs")
NODE_MIN = 20
FETCH_SECONDS = 120


class CallFailed(Exception):
    """A call that AWS's client turned into an error."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class Caller(ABC):
    """A client of GameLift."""

    @abstractmethod
    def call(self, operation: str, **params: Any) -> dict[str, Any]:
        """Return the answer of a call; raise `CallFailed` if there is none."""

    @abstractmethod
    def close(self) -> None:
        """End the client."""


class Boto(Caller):
    """boto3, in the protocol that it prefers, or in another that its model lists."""

    def __init__(
        self, server: Server, protocol: str = "json", key: str = "any", secret: str = "any"
    ) -> None:
        if protocol == "cbor":
            with pytest.MonkeyPatch.context() as patch:
                wanted = ("smithy-rpc-v2-cbor",)
                patch.setattr(model, "PRIORITY_ORDERED_SUPPORTED_PROTOCOLS", wanted)
                self._client = client_of(server, key, secret)
        else:
            self._client = client_of(server, key, secret)
        self.sent: set[str] = set()
        self._client.meta.events.register("before-send.gamelift", self._note)

    def call(self, operation: str, **params: Any) -> dict[str, Any]:
        try:
            answer = getattr(self._client, boto3.session.botocore.xform_name(operation))(**params)
        except ClientError as error:
            told = error.response["Error"]
            raise CallFailed(told["Code"], told["Message"]) from None
        found: dict[str, Any] = {k: v for k, v in answer.items() if k != "ResponseMetadata"}
        return found

    def close(self) -> None:
        self._client.close()

    def _note(self, request: Any, **_: Any) -> None:
        kind = request.headers["content-type"]
        self.sent.add(kind.decode() if isinstance(kind, bytes) else kind)


class JavaScript(Caller):
    """The SDK for JavaScript, in a process of Node."""

    def __init__(self, server: Server, protocol: str = "json") -> None:
        self.sent: set[str] = set()
        self._process = subprocess.Popen(
            ["node", str(BRIDGE), str(fetched()), server.url, protocol],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def call(self, operation: str, **params: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"operation": operation, "params": params}) + "\n")
        self._process.stdin.flush()
        told = json.loads(self._process.stdout.readline())
        self.sent |= set(told["sent"])
        if "code" in told:
            raise CallFailed(told["code"], told["message"])
        found: dict[str, Any] = told["answer"]
        return found

    def close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        self._process.terminate()
        self._process.wait()


def fetched() -> Path:
    """Return the folder with the SDK, which npm fetches once; skip the test where it cannot."""
    if FETCHED.exists():
        return FOLDER
    if shutil.which("npm") is None or node_version() < NODE_MIN:
        pytest.skip(f"NOT TESTED WITH AWS'S SDK FOR JAVASCRIPT: needs Node {NODE_MIN} and npm")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with FOLDER.with_suffix(".lock").open("w") as lock:
        # Tests that run beside each other fetch it once.
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _fetch()


def _fetch() -> Path:
    if FETCHED.exists():
        return FOLDER
    quiet = ["--silent", "--no-audit", "--no-fund", "--no-save", "--prefix", str(FOLDER)]
    try:
        done = subprocess.run(
            ["npm", "install", *quiet, PACKAGE],
            capture_output=True,
            text=True,
            timeout=FETCH_SECONDS,
            check=False,
        )
        failed = done.returncode != 0
    except subprocess.TimeoutExpired:
        failed = True
    if failed:
        shutil.rmtree(FOLDER / "node_modules", ignore_errors=True)
        pytest.skip(f"NOT TESTED WITH AWS'S SDK FOR JAVASCRIPT: npm could not fetch {PACKAGE}")
    FETCHED.touch()
    return FOLDER


def node_version() -> int:
    """Return the major version of Node, 0 without it."""
    if shutil.which("node") is None:
        return 0
    told = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True)
    return int(told.stdout.removeprefix("v").split(".")[0])

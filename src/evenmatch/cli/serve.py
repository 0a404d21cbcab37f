"""`evenmatch serve`: a matchmaking server."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from evenmatch.errors import ConfigError, NotSupported


def serve(
    config: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    data: Path | None = None,
    journal: str | None = None,
) -> None:
    """Take tickets and make matches, over HTTP.

    Without --data everything is kept in memory and lost when the server ends.
    The page at / shows how the queues do; /openapi.json describes the interface.

    For example:

        evenmatch serve scenarios/duel.toml --port 8080 --data ./data

    Args:
        config: Queues and [server] settings, TOML.
        host: A loopback address.
        port: 0 takes a free one.
        data: Directory of the journal; it is made if it is missing.
        journal: Reserved for a later version.
    """
    if journal is not None:
        raise NotSupported(f"--journal {journal} comes with a later version; use --data DIR")
    if not 0 <= port <= 65_535:
        raise ConfigError(f"--port must be from 0 to 65535, got {port}")
    # Imported here so that --help needs no server.
    needs_server()
    from evenmatch.config import load_server
    from evenmatch.server import serving
    from evenmatch.server.recovery import Plan

    queues, settings, seed = load_server(config)
    serving.serve(Plan(queues, seed, settings), serving.Place(host, port, data), _announce)


def needs_server() -> None:
    """Check that what a server needs is installed.

    Raises:
        NotSupported: It is not; the sentence says how to get it.
    """
    if find_spec("uvicorn") is None or find_spec("starlette") is None:
        raise NotSupported("a server needs more packages: pip install 'evenmatch[server]'")


def _announce(address: str) -> None:
    print(f"evenmatch listens on {address}", flush=True)

"""The least that a Python web server can do: one Starlette route that validates and answers 201.

It stands beside evenmatch's server with the same loop, the same HTTP parser and the same body.
"""

from __future__ import annotations

import asyncio
import socket

import msgspec
import uvicorn
import uvloop
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evenmatch.wire.tickets import CreateTicket, TicketCreated, decode_create


async def create(request: Request) -> Response:
    """Validate the body and answer what a create answers."""
    created = decode_create(await request.body())
    assert isinstance(created, CreateTicket)
    answer = TicketCreated("s0-1", "waiting", created.queues, 0.0)
    return Response(msgspec.json.encode(answer), 201, media_type="application/json")


def main() -> None:
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", 0))
    listening.listen(2048)
    app = Starlette(routes=[Route("/v1/tickets", create, methods=["POST"])])
    config = uvicorn.Config(
        app,
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=75,
    )
    print(f"bare listens on http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(uvicorn.Server(config).serve(sockets=[listening]))


if __name__ == "__main__":
    main()

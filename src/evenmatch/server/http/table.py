"""The table of the HTTP interface: one row for each operation.

A row says who may use it, what it takes, what it answers with and what answers it. A new operation
needs

- a handler in the module of its group, or an `InputRequest`, such as those in `match_inputs`, and
  a row here;
- types in `wire`, if its bodies are new;
- a line in `server.cluster.router`, unless its path names a queue, or a ticket, match or
  allocation by its id: the line says which shards answer;
- a request in `docs/http_examples.py`, which records the answer for the API page.

`make docs` and `make client-ts` then write the reference and the TypeScript client;
`client.async_client` is written by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from starlette.responses import Response

from evenmatch.model.explanation import Explanation, LongestWaiting
from evenmatch.model.inputs import Accept, Decline
from evenmatch.server.allocation.routes import STATES, AllocationRoutes
from evenmatch.server.api_page import routes as api_page
from evenmatch.server.auth.accounts import GuestToken
from evenmatch.server.auth.audit import PAGE_MAX, AuditPage
from evenmatch.server.auth.routes import AccountRoutes
from evenmatch.server.dashboard import routes as dashboard
from evenmatch.server.dashboard.messages import MatchShown
from evenmatch.server.gamelift.event_stream import GameLiftEventStream
from evenmatch.server.gamelift.routes import GameLiftRoute
from evenmatch.server.http.input_routes import InputRequest, InputRoute
from evenmatch.server.http.match_inputs import (
    AnswerReadyCheck,
    AssignMatch,
    CloseMatch,
    FinishMatch,
    OpenMatch,
    ReportMatch,
)
from evenmatch.server.http.openapi.document import document_of
from evenmatch.server.http.operation import (
    WEBSOCKET,
    Json,
    Operation,
    Server,
    array_of,
    content,
    in_query,
    ref,
)
from evenmatch.server.http.operator_routes import OperatorRoutes
from evenmatch.server.http.responses import encode
from evenmatch.server.http.sockets import StreamRoute
from evenmatch.server.http.stream_routes import LiveRoutes, QueueMatches, TicketEvents
from evenmatch.server.http.ticket_routes import (
    WAITING_MOST,
    ExplainRoutes,
    PlayerRoutes,
    Routes,
    later,
)
from evenmatch.server.views.by_player import TICKETS_MOST
from evenmatch.server.views.followers import TICKET_STATES
from evenmatch.wire import operate
from evenmatch.wire.backfill import AllocationState, BackfillState, OpenForBackfill
from evenmatch.wire.live import FollowTickets, StreamEvent, StreamProblem, UpdateTicket
from evenmatch.wire.matches import AnswerCheck, FeedPage, MatchState, ReportOutcome
from evenmatch.wire.tickets import (
    BATCH_MAX,
    CreateTicket,
    ItemCreated,
    ItemProblem,
    PlayerRating,
    Problem,
    QueueState,
    TicketCancelled,
    TicketCreated,
    TicketListed,
    TicketState,
)

_TEXT = {"type": "string"}
_SECONDS = {"type": "number", "minimum": 0}
_WHOLE = {"type": "integer", "minimum": 0}
_ANY = content({"type": "object"})
_FILE = content({}, "*/*")
_PAGE = content(_TEXT, "text/html")
_STREAM = content(_TEXT, "text/event-stream")

_CREATED = content(
    {
        "anyOf": [
            ref(TicketCreated),
            {"type": "array", "items": {"anyOf": [ref(ItemCreated), ref(ItemProblem)]}},
        ]
    }
)
_CREATE = content(
    {
        "anyOf": [
            ref(CreateTicket),
            {"type": "array", "items": ref(CreateTicket), "minItems": 1, "maxItems": BATCH_MAX},
        ]
    }
)
_IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "schema": _TEXT,
    "description": "A text of your choice. If you send the same key and body again, you get the "
    "same answer, and nothing is created twice.",
}
_PLAYER = in_query(
    "player",
    _TEXT,
    "The player's id; with a player's token you may leave it out, for that player.",
)
_WAIT = in_query("wait", _SECONDS, "Seconds to wait for the next change of state, at most 60.")
_STATE = in_query(
    "state",
    {**_TEXT, "enum": [*TICKET_STATES, ""]},
    "The state that you know, empty if none; if it differs, do not wait.",
)
_MATCH = in_query(
    "match",
    _TEXT,
    "The match that you know, empty if none; if it differs, do not wait.",
)
_AFTER = in_query(
    "after",
    _WHOLE,
    "`next` of the last page, or of an answer 410; by default the oldest match kept.",
)
_CONFIG = {
    "content": {
        "application/toml": {"schema": _TEXT},
        "text/plain": {"schema": _TEXT},
        "application/json": {"schema": {"type": "object"}},
    }
}
_AWS = content({"type": "object"}, "application/x-amz-json-1.1")
_TARGET = {
    "name": "X-Amz-Target",
    "in": "header",
    "required": True,
    "schema": _TEXT,
    "description": "`GameLift.` and the name of the operation: `GameLift.StartMatchmaking`.",
}
_CBOR = content({"type": "string", "format": "binary"}, "application/cbor")
_FORM = {
    "name": "Smithy-Protocol",
    "in": "header",
    "required": True,
    "schema": {"const": "rpc-v2-cbor"},
    "description": "Says that the body is CBOR.",
}
_DRAIN = {"200": operate.DrainState}
_QUEUED = "tickets own"
_SEEN = "read operate"


def _input(at: Server, kind: Callable[..., InputRequest], *how: Any) -> InputRoute:
    return InputRoute(at.services, kind(at.services.runtime, *how))


@lru_cache(maxsize=1)
def _document() -> Response:
    return Response(encode(openapi_document()), media_type="application/json")


TICKETS = (
    Operation(
        "GET", "/v1/tickets", "getTickets",
        "Get a player's tickets, newest first: those that wait, and those that ended lately",
        "Tickets", lambda at: PlayerRoutes(at.services).get_tickets,
        rights="tickets own read operate", parameters=(_PLAYER,),
        answers={"200": array_of(TicketListed, maxItems=TICKETS_MOST)}, errors="400 503",
    ),
    # The application answers it before any route; it stands here like all others, so that other
    # methods get 405 and not 404.
    Operation(
        "POST", "/v1/tickets", "createTickets",
        "Create one ticket or many, which then wait for a match",
        "Tickets", lambda _: later("creating tickets over this route"),
        rights=_QUEUED, parameters=(_IDEMPOTENCY_KEY,), request=_CREATE,
        answers={"201": TicketCreated, "200": _CREATED}, errors="400 404 408 409 413 503",
    ),
    Operation(
        "GET", "/v1/tickets/{ticket}", "getTicket", "Get the state of a ticket",
        "Tickets", lambda at: Routes(at.services).get_ticket,
        rights=_QUEUED, parameters=(_WAIT, _STATE, _MATCH),
        answers={"200": TicketState}, errors="400 404 410 503",
    ),
    Operation(
        "DELETE", "/v1/tickets/{ticket}", "cancelTicket", "Cancel a ticket",
        "Tickets", lambda at: Routes(at.services).cancel_ticket,
        rights="tickets own operate", is_audited=True,
        answers={"200": TicketCancelled}, errors="404 409 410 503",
    ),
    Operation(
        "PATCH", "/v1/tickets/{ticket}", "updateTicket", "Update a waiting ticket",
        "Tickets", lambda at: LiveRoutes(*at).update,
        rights=_QUEUED, request=UpdateTicket,
        answers={"200": TicketState}, errors="400 404 408 409 410 413 503",
    ),
    Operation(
        "POST", "/v1/tickets/{ticket}/heartbeat", "heartbeat", "Say that a client is still there",
        "Tickets", lambda at: LiveRoutes(*at).heartbeat,
        rights=_QUEUED, answers={"200": TicketState}, errors="404 410 503",
    ),
    Operation(
        WEBSOCKET, "/v1/stream", "", "Follow many tickets over one WebSocket",
        "Tickets", lambda at: StreamRoute(at.services), rights=_QUEUED, answers={},
    ),
    Operation(
        "GET", "/v1/stream", "streamTickets",
        "Follow many tickets over one WebSocket; its messages are FollowTickets, StreamEvent and "
        "StreamProblem",
        "Tickets", lambda at: LiveRoutes(*at).stream_by_http,
        rights=_QUEUED, answers={"101": None, "426": Problem}, errors="400 426",
    ),
    Operation(
        "GET", "/v1/tickets/{ticket}/events", "followTicket",
        "Follow a ticket's changes of state as server-sent events; 204 when it has ended",
        "Tickets", lambda at: TicketEvents(at.services),
        rights=_QUEUED, answers={"200": _STREAM, "204": None}, errors="400 404 410 503",
    ),
    Operation(
        "GET", "/v1/tickets/{ticket}/explain", "explainTicket",
        "Explain why a ticket still waits, or how it ended",
        "Tickets", lambda at: ExplainRoutes(at.services).explain_ticket,
        rights="tickets own read operate", answers={"200": Explanation}, errors="400 404 410 503",
    ),
)  # fmt: skip

MATCHES = (
    Operation(
        "GET", "/v1/matches/{match}", "getMatch", "Get a match",
        "Matches", lambda at: Routes(at.services).get_match,
        rights="tickets matches own read operate",
        answers={"200": MatchState}, errors="404 410 503",
    ),
    Operation(
        "PUT", "/v1/matches/{match}/assignment", "assignMatch", "Say where a match is played",
        "Matches", lambda at: _input(at, AssignMatch),
        rights="matches own",
        request=content({"type": "object", "additionalProperties": _TEXT}),
        answers={"200": MatchState}, errors="400 404 408 409 410 413 503",
    ),
    Operation(
        "POST", "/v1/matches/{match}/outcome", "reportOutcome",
        "Report how a match ended, as the game's backend or as one of its players",
        "Matches", lambda at: _input(at, ReportMatch),
        rights="matches own", request=ReportOutcome,
        answers={"200": MatchState}, errors="400 404 408 409 410 413 503",
    ),
    Operation(
        "GET", "/v1/players/{player}/rating", "getRating", "Get a player's rating",
        "Players", lambda at: PlayerRoutes(at.services).get_rating,
        rights="tickets matches own read operate",
        parameters=(
            in_query(
                "queue", _TEXT,
                "The queue in which the rating counts; by default the first that the key is for.",
            ),
        ),
        answers={"200": PlayerRating}, errors="400 404 503",
    ),
    Operation(
        "POST", "/v1/matches/{match}/finish", "finishMatch", "End a live match",
        "Matches", lambda at: _input(at, FinishMatch),
        rights="matches", answers={"200": MatchState}, errors="404 408 409 410 413 503",
    ),
    Operation(
        "POST", "/v1/matches/{match}/accept", "acceptMatch", "Accept a proposed match",
        "Ready-checks", lambda at: _input(at, AnswerReadyCheck, Accept),
        rights=_QUEUED, request=AnswerCheck,
        answers={"200": TicketState}, errors="400 404 408 409 410 413 503",
    ),
    Operation(
        "POST", "/v1/matches/{match}/decline", "declineMatch", "Decline a proposed match",
        "Ready-checks", lambda at: _input(at, AnswerReadyCheck, Decline),
        rights=_QUEUED, request=AnswerCheck,
        answers={"200": TicketState}, errors="400 404 408 409 410 413 503",
    ),
    Operation(
        "POST", "/v1/matches/{match}/open", "openMatch",
        "Ask for players for a running match; send it again as a heartbeat",
        "Running matches", lambda at: _input(at, OpenMatch),
        rights="matches", request=OpenForBackfill,
        answers={"200": BackfillState}, errors="400 404 408 409 410 413 503",
    ),
    Operation(
        "GET", "/v1/matches/{match}/open", "getOpenMatch",
        "Get the players and free seats of a running match",
        "Running matches", lambda at: Routes(at.services).get_open_match,
        rights="matches", answers={"200": BackfillState}, errors="404 409 410 503",
    ),
    Operation(
        "POST", "/v1/matches/{match}/close", "closeMatch", "Stop asking for players",
        "Running matches", lambda at: _input(at, CloseMatch),
        rights="matches", answers={"200": BackfillState}, errors="404 408 409 410 413 503",
    ),
    Operation(
        "GET", "/v1/allocations", "getAllocations",
        "Get the matches that have no server yet, and those whose allocation failed",
        "Operations", lambda at: AllocationRoutes(at.services).get,
        rights="operate",
        parameters=(
            in_query("state", {**_TEXT, "enum": list(STATES)}, "Only matches in this state."),
        ),
        answers={"200": array_of(AllocationState)}, errors="400",
    ),
    Operation(
        "POST", "/v1/allocations/{match}/retry", "retryAllocation",
        "Ask again for a server for a match",
        "Operations", lambda at: AllocationRoutes(at.services).retry,
        rights="operate", is_audited=True,
        answers={"200": array_of(AllocationState)}, errors="404 409 410 503",
    ),
)  # fmt: skip

QUEUES = (
    Operation(
        "GET", "/v1/queues", "getQueues", "Get all queues",
        "Queues", lambda at: Routes(at.services).get_queues,
        rights="tickets own matches read operate",
        answers={"200": array_of(QueueState)}, errors="503",
    ),
    Operation(
        "GET", "/v1/queues/{queue}/stats", "getQueueStats", "Get the figures of a queue",
        "Queues", lambda at: Routes(at.services).get_stats,
        rights=_SEEN, answers={"200": operate.QueueReport}, errors="404 503",
    ),
    Operation(
        "GET", "/v1/queues/{queue}/waiting", "getLongestWaiting",
        "Get the longest waiting tickets, each with a sentence about why it waits",
        "Queues", lambda at: ExplainRoutes(at.services).get_waiting,
        rights=_SEEN,
        parameters=(
            in_query(
                "most",
                {"type": "integer", "minimum": 1, "maximum": WAITING_MOST},
                "Return at most this many tickets; by default 20.",
            ),
        ),
        answers={"200": LongestWaiting}, errors="400 404 503",
    ),
    Operation(
        "GET", "/v1/queues/{queue}/matches", "getQueueMatches",
        "Read a queue's matches in order, each at least once",
        "Matches", lambda at: QueueMatches(at.services),
        rights="matches",
        parameters=(
            _AFTER,
            in_query("wait", _SECONDS, "Seconds to wait for a match if there is none yet."),
        ),
        answers={"200": {"content": {**content(ref(FeedPage))["content"], **_STREAM["content"]}}},
        errors="400 404 410 503",
    ),
    Operation(
        "GET", "/v1/dashboard/events", "followDashboard",
        "Follow a queue: the last hour, then a snapshot per second, as the events `queues`, "
        "`hour`, `matches` and `tick`",
        "Dashboard", lambda at: dashboard.DashboardEvents(at.services),
        rights=_SEEN, is_queried=True,
        parameters=(
            in_query("queue", _TEXT, "The queue; by default the first."),
        ),
        answers={"200": _STREAM}, errors="400 404 503",
    ),
    Operation(
        "GET", "/v1/dashboard/matches/{match}", "getMatchStory",
        "Get how long each player waited for a match, and what each criterion cost",
        "Dashboard", lambda at: dashboard.DashboardMatch(at.services),
        rights=_SEEN, answers={"200": MatchShown}, errors="404 410 503",
    ),
    Operation(
        "GET", "/dashboard/{file}", "getPageFile", "Get a file of the dashboard",
        "Dashboard", lambda _: dashboard.get_file,
        rights="anyone", answers={"200": _FILE, "304": None}, errors="404",
    ),
)  # fmt: skip

OPERATORS = (
    Operation(
        "GET", "/v1/config", "getConfig", "Get the configuration in force",
        "Operations", lambda at: OperatorRoutes(at.services).get_config,
        rights="operate", answers={"200": operate.ConfigState}, errors="400 503",
    ),
    Operation(
        "PUT", "/v1/config", "putConfig", "Replace the configuration, all of it or nothing",
        "Operations", lambda at: OperatorRoutes(at.services).put_config,
        rights="operate", is_audited=True,
        parameters=(
            in_query(
                "dry_run",
                {"enum": ["0", "1", "true", "false"]},
                "1: only say what the change would do.",
            ),
            in_query("if_version", _WHOLE, "Refuse the change unless this version is in force."),
        ),
        request=_CONFIG, answers={"200": operate.ConfigChanged}, errors="400 408 409 413 501 503",
    ),
    Operation(
        "POST", "/v1/queues/{queue}/pause", "pauseQueue",
        "Pause a queue: it takes no tickets and makes no matches",
        "Operations", lambda at: OperatorRoutes(at.services).pause,
        rights="operate", is_audited=True,
        answers={"200": operate.QueuePaused}, errors="404 409 503",
    ),
    Operation(
        "POST", "/v1/queues/{queue}/resume", "resumeQueue", "Resume a paused queue",
        "Operations", lambda at: OperatorRoutes(at.services).resume,
        rights="operate", is_audited=True,
        answers={"200": operate.QueuePaused}, errors="404 409 503",
    ),
    Operation(
        "PUT", "/v1/queues/{queue}/policy", "putQueuePolicy",
        "Replace a queue's policy; its tickets wait on",
        "Operations", lambda at: OperatorRoutes(at.services).put_policy,
        rights="operate", is_audited=True, request=operate.SetPolicy,
        answers={"200": operate.QueuePolicy}, errors="400 404 408 409 413 501 503",
    ),
    Operation(
        "PUT", "/v1/queues/{queue}/shadow", "putQueueShadow",
        "Run a shadow policy beside the live one and count what it would do",
        "Operations", lambda at: OperatorRoutes(at.services).put_shadow,
        rights="operate", is_audited=True, request=operate.SetShadow,
        answers={"200": operate.QueueShadow}, errors="400 404 408 409 413 501 503",
    ),
    Operation(
        "GET", "/v1/drain", "getDrain", "Get whether the server is draining",
        "Operations", lambda at: OperatorRoutes(at.services).get_drain,
        rights="operate", answers=_DRAIN, errors="400",
    ),
    Operation(
        "POST", "/v1/drain", "beginDrain",
        "Drain the server: take no new tickets, and stop when no ticket waits any more",
        "Operations", lambda at: OperatorRoutes(at.services).begin_drain,
        rights="operate", is_audited=True,
        parameters=(
            in_query(
                "limit",
                _SECONDS,
                "Seconds after which to stop even if tickets still wait; by default "
                "[server] drain_max.",
            ),
        ),
        answers=_DRAIN, errors="400",
    ),
    Operation(
        "DELETE", "/v1/drain", "endDrain", "Stop draining and take tickets again",
        "Operations", lambda at: OperatorRoutes(at.services).end_drain,
        rights="operate", is_audited=True, answers=_DRAIN, errors="400",
    ),
)  # fmt: skip

ACCOUNTS = (
    Operation(
        "POST", "/v1/guests", "makeGuest",
        "Get a player token for a guest, if the server takes guests",
        "Players", lambda at: AccountRoutes(at.accounts).make_guest,
        rights="anyone", answers={"201": GuestToken}, errors="501",
    ),
    Operation(
        "GET", "/v1/audit", "getAudit", "Read the audit log: who did what, and when",
        "Operations", lambda at: AccountRoutes(at.accounts).get_audit,
        rights="operate",
        parameters=(
            in_query("after", _WHOLE, "`next` of the last page; by default the newest entries."),
            in_query(
                "most",
                {"type": "integer", "minimum": 1, "maximum": PAGE_MAX},
                "Most entries per page.",
            ),
        ),
        answers={"200": AuditPage}, errors="400",
    ),
)  # fmt: skip

PAGES = (
    Operation(
        "GET", "/openapi.json", "getDocument", "Get this document",
        "Server", lambda _: _document(),
        rights="anyone", answers={"200": _ANY},
    ),
    Operation(
        "GET", "/", "getPage", "Get the dashboard, a web page",
        "Server", lambda _: dashboard.get_page,
        rights="anyone", answers={"200": _PAGE, "304": None},
    ),
    Operation(
        "POST", "/", "gameLift", "Make a call of Amazon GameLift, as AWS's clients do",
        "GameLift", lambda at: GameLiftRoute(at.services, at.accounts).answer,
        rights="tickets matches operate read", parameters=(_TARGET,), request=_AWS,
        answers={"200": _AWS, "400": _AWS, "408": None, "413": None, "503": None},
    ),
    Operation(
        "POST", "/service/GameLift/operation/{operation}", "gameLiftCbor",
        "Make the same calls as RPC v2 CBOR, which AWS's clients may send instead",
        "GameLift", lambda at: GameLiftRoute(at.services, at.accounts).answer_cbor,
        rights="tickets matches operate read", parameters=(_FORM,), request=_CBOR,
        answers={"200": _CBOR, "400": _CBOR, "408": None, "413": None, "503": None},
    ),
    Operation(
        "GET", "/v1/gamelift/events", "followGameLift",
        "Follow FlexMatch's events as server-sent events, each in an EventBridge envelope; with "
        "`Last-Event-ID` the stream goes on where the client left off",
        "GameLift", lambda at: GameLiftEventStream(at.services),
        rights="matches operate",
        parameters=(
            in_query("configuration", _TEXT, "Only events of this configuration, by name or ARN."),
        ),
        answers={"200": _STREAM}, errors="400 503",
    ),
    Operation(
        "GET", "/metrics", "getMetrics", "Get metrics for Prometheus",
        "Server", lambda at: Routes(at.services).metrics,
        rights=_SEEN, answers={"200": content(_TEXT, "text/plain")},
    ),
    Operation(
        "GET", "/healthz", "getHealth", "Get whether the server is alive",
        "Server", lambda at: Routes(at.services).healthz,
        rights="anyone", answers={"200": _ANY},
    ),
    Operation(
        "GET", "/readyz", "getReadiness", "Get whether the server takes tickets",
        "Server", lambda at: Routes(at.services).readyz,
        rights="anyone", answers={"200": _ANY, "503": _ANY},
    ),
    Operation(
        "GET", "/docs", "getApiPage", "Get this document as a page to browse",
        "Server", lambda _: api_page.get_page,
        rights="anyone", answers={"200": _PAGE, "304": None},
    ),
    Operation(
        "GET", "/docs/{file}", "getApiPageFile", "Get a file of that page",
        "Server", lambda _: api_page.get_file,
        rights="anyone", answers={"200": _FILE, "304": None}, errors="404",
    ),
)  # fmt: skip

OPERATIONS: tuple[Operation, ...] = (*TICKETS, *MATCHES, *QUEUES, *OPERATORS, *ACCOUNTS, *PAGES)


MORE = (
    CreateTicket,
    ItemCreated,
    ItemProblem,
    TicketListed,
    FeedPage,
    QueueState,
    AllocationState,
    FollowTickets,
    StreamEvent,
    StreamProblem,
)
"""Types that bodies and the messages of streams hold, but are no whole body."""


@lru_cache(maxsize=1)
def openapi_document() -> Json:
    """Return the OpenAPI 3.1 description of all operations of this version."""
    return document_of(OPERATIONS, MORE)

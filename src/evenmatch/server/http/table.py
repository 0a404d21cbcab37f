"""The HTTP interface: one row for each operation, and nothing that is not written down.

A row says who may use it, what it takes, what it answers with and what answers it. A new operation
needs

- a handler in the module of its group, and a row here;
- types in `wire`, if its bodies are new;
- a line in `server.cluster.router`, unless its path names a queue, or a ticket, match or
  allocation by its id: the line says which shards answer;
- a request in `docs/http_examples.py`, which records the answer for the API page.

`make docs` and `make client-ts` then write the reference and the TypeScript client;
`client.async_client` is written by hand.
"""

from __future__ import annotations

from functools import lru_cache

from starlette.responses import Response

from evenmatch.model.explanation import Explanation, LongestWaiting
from evenmatch.server.allocation.routes import STATES, AllocationRoutes
from evenmatch.server.api_page import routes as api_page
from evenmatch.server.auth.accounts import GuestToken
from evenmatch.server.auth.audit import PAGE_MAX, AuditPage
from evenmatch.server.auth.routes import AccountRoutes
from evenmatch.server.dashboard import routes as dashboard
from evenmatch.server.dashboard.messages import MatchShown
from evenmatch.server.gamelift.event_stream import GameLiftEventStream
from evenmatch.server.gamelift.routes import GameLiftRoute
from evenmatch.server.http.openapi.document import document_of
from evenmatch.server.http.operation import (
    WEBSOCKET,
    Json,
    Operation,
    array_of,
    content,
    in_query,
    ref,
)
from evenmatch.server.http.operator_routes import OperatorRoutes
from evenmatch.server.http.outcome_routes import BackfillRoutes, OutcomeRoutes
from evenmatch.server.http.responses import encode
from evenmatch.server.http.sockets import StreamRoute
from evenmatch.server.http.stream_routes import LiveRoutes, QueueMatches, TicketEvents
from evenmatch.server.http.ticket_routes import (
    WAITING_MOST,
    AcceptanceRoutes,
    ExplainRoutes,
    PlayerRoutes,
    Routes,
    later,
)
from evenmatch.server.views.by_player import TICKETS_MOST
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
    "description": "Of your choice: the same key and body again get the same answer, and "
    "nothing is created twice.",
}
_PLAYER = in_query(
    "player",
    _TEXT,
    "The player's id; with the token of a player it may be left out, and means that player.",
)
_WAIT = in_query("wait", _SECONDS, "Answer at the next change of state, or after this long.")
_STATE = in_query("state", _TEXT, "Answer at once if the state is another.")
_MATCH = in_query(
    "match", _TEXT, "Answer at once if the match is another; empty means that none is known."
)
_AFTER = in_query(
    "after",
    _WHOLE,
    "`next` of the page before, or of an answer 410; left out: the oldest match kept.",
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


@lru_cache(maxsize=1)
def _document() -> Response:
    return Response(encode(openapi_document()), media_type="application/json")


TICKETS = (
    Operation(
        "GET", "/v1/tickets", "getTickets",
        "A player's tickets, newest first: those that wait, and those that ended lately",
        "Tickets", lambda at: PlayerRoutes(at.services).get_tickets,
        rights="tickets own read operate", parameters=(_PLAYER,),
        answers={"200": array_of(TicketListed, maxItems=TICKETS_MOST)}, errors="400 503",
    ),
    # The application answers it before any route; it stands here like all others, so that other
    # methods get 405 and not 404.
    Operation(
        "POST", "/v1/tickets", "createTickets", "Wait for a match, with one ticket or many",
        "Tickets", lambda _: later("creating tickets over this route"),
        rights=_QUEUED, parameters=(_IDEMPOTENCY_KEY,), request=_CREATE,
        answers={"201": TicketCreated, "200": _CREATED}, errors="400 404 409 413 503",
    ),
    Operation(
        "GET", "/v1/tickets/{ticket}", "getTicket", "How a ticket does",
        "Tickets", lambda at: Routes(at.services).get_ticket,
        rights=_QUEUED, parameters=(_WAIT, _STATE, _MATCH),
        answers={"200": TicketState}, errors="400 404 410 503",
    ),
    Operation(
        "DELETE", "/v1/tickets/{ticket}", "cancelTicket", "Wait no longer",
        "Tickets", lambda at: Routes(at.services).cancel_ticket,
        rights="tickets own operate", is_audited=True,
        answers={"200": TicketCancelled}, errors="404 409 410 503",
    ),
    Operation(
        "PATCH", "/v1/tickets/{ticket}", "updateTicket", "New facts of a waiting ticket",
        "Tickets", lambda at: LiveRoutes(*at).update,
        rights=_QUEUED, request=UpdateTicket,
        answers={"200": TicketState}, errors="400 404 409 410 413 503",
    ),
    Operation(
        "POST", "/v1/tickets/{ticket}/heartbeat", "heartbeat", "A sign of life, where asked for",
        "Tickets", lambda at: LiveRoutes(*at).heartbeat,
        rights=_QUEUED, answers={"200": TicketState}, errors="404 410 503",
    ),
    Operation(
        WEBSOCKET, "/v1/stream", "", "Many tickets over one WebSocket",
        "Tickets", lambda at: StreamRoute(at.services), rights=_QUEUED, answers={},
    ),
    Operation(
        "GET", "/v1/stream", "streamTickets",
        "Many tickets over one WebSocket: see the schemas FollowTickets, StreamEvent and "
        "StreamProblem for its messages",
        "Tickets", lambda at: LiveRoutes(*at).stream_by_http,
        rights=_QUEUED, answers={"101": None, "426": Problem}, errors="400 426",
    ),
    Operation(
        "GET", "/v1/tickets/{ticket}/events", "followTicket",
        "Each change of state, as server-sent events; 204 when there is no more to hear",
        "Tickets", lambda at: TicketEvents(at.services),
        rights=_QUEUED, answers={"200": _STREAM, "204": None}, errors="400 404 410 503",
    ),
    Operation(
        "GET", "/v1/tickets/{ticket}/explain", "explainTicket",
        "Why a ticket still waits, or how it ended",
        "Tickets", lambda at: ExplainRoutes(at.services).explain_ticket,
        rights="tickets own read operate", answers={"200": Explanation}, errors="400 404 410 503",
    ),
)  # fmt: skip

MATCHES = (
    Operation(
        "GET", "/v1/matches/{match}", "getMatch", "A match",
        "Matches", lambda at: Routes(at.services).get_match,
        rights="tickets matches own read operate",
        answers={"200": MatchState}, errors="404 410 503",
    ),
    Operation(
        "PUT", "/v1/matches/{match}/assignment", "assignMatch", "Say where a match is played",
        "Matches", lambda at: Routes(at.services).assign_match,
        rights="matches own",
        request=content({"type": "object", "additionalProperties": _TEXT}),
        answers={"200": MatchState}, errors="400 404 409 410 413 503",
    ),
    Operation(
        "POST", "/v1/matches/{match}/outcome", "reportOutcome",
        "Say how a match ended, as the game's service or as one of its players",
        "Matches", lambda at: OutcomeRoutes(at.services).report,
        rights="matches own", request=ReportOutcome,
        answers={"200": MatchState}, errors="400 404 409 410 413 503",
    ),
    Operation(
        "GET", "/v1/players/{player}/rating", "getRating", "What is known of a player's skill",
        "Players", lambda at: OutcomeRoutes(at.services).get_rating,
        rights="tickets matches own read operate",
        parameters=(
            in_query(
                "queue", _TEXT, "The rating that counts in this queue; left out: the first queue."
            ),
        ),
        answers={"200": PlayerRating}, errors="400 404 503",
    ),
    Operation(
        "POST", "/v1/matches/{match}/finish", "finishMatch", "End a live match",
        "Matches", lambda at: Routes(at.services).finish_match,
        rights="matches", answers={"200": MatchState}, errors="404 409 410 503",
    ),
    Operation(
        "POST", "/v1/matches/{match}/accept", "acceptMatch", "Confirm a match that was proposed",
        "Ready-checks", lambda at: AcceptanceRoutes(at.services).accept,
        rights=_QUEUED, request=AnswerCheck,
        answers={"200": TicketState}, errors="400 404 409 410 413 503",
    ),
    Operation(
        "POST", "/v1/matches/{match}/decline", "declineMatch", "Turn a proposed match down",
        "Ready-checks", lambda at: AcceptanceRoutes(at.services).decline,
        rights=_QUEUED, request=AnswerCheck,
        answers={"200": TicketState}, errors="400 404 409 410 413 503",
    ),
    Operation(
        "POST", "/v1/matches/{match}/open", "openMatch",
        "Ask for players for a running match, or go on asking (a heartbeat)",
        "Running matches", lambda at: BackfillRoutes(at.services).open,
        rights="matches", request=OpenForBackfill,
        answers={"200": BackfillState}, errors="400 404 409 410 413 503",
    ),
    Operation(
        "GET", "/v1/matches/{match}/open", "getOpenMatch", "Who plays in a running match",
        "Running matches", lambda at: BackfillRoutes(at.services).get,
        rights="matches", answers={"200": BackfillState}, errors="404 409 410 503",
    ),
    Operation(
        "POST", "/v1/matches/{match}/close", "closeMatch", "Ask for nobody any more",
        "Running matches", lambda at: BackfillRoutes(at.services).close,
        rights="matches", answers={"200": BackfillState}, errors="404 409 410 503",
    ),
    Operation(
        "GET", "/v1/allocations", "getAllocations",
        "Matches without a server, and those whose allocation failed",
        "Operations", lambda at: AllocationRoutes(at.services).get,
        rights="operate",
        parameters=(
            in_query("state", {**_TEXT, "enum": list(STATES)}, "Only those in this state."),
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
        "GET", "/v1/queues", "getQueues", "All queues",
        "Queues", lambda at: Routes(at.services).get_queues,
        rights="tickets own matches read operate",
        answers={"200": array_of(QueueState)}, errors="503",
    ),
    Operation(
        "GET", "/v1/queues/{queue}/stats", "getQueueStats", "How a queue does",
        "Queues", lambda at: Routes(at.services).get_stats,
        rights=_SEEN, answers={"200": operate.QueueReport}, errors="404 503",
    ),
    Operation(
        "GET", "/v1/queues/{queue}/waiting", "getLongestWaiting",
        "The longest waiting tickets, each with a sentence about why it waits",
        "Queues", lambda at: ExplainRoutes(at.services).get_waiting,
        rights=_SEEN,
        parameters=(
            in_query(
                "most",
                {"type": "integer", "minimum": 1, "maximum": WAITING_MOST},
                "At most this many tickets; 20 if it is left out.",
            ),
        ),
        answers={"200": LongestWaiting}, errors="400 404 503",
    ),
    Operation(
        "GET", "/v1/queues/{queue}/matches", "getQueueMatches",
        "Every match at least once, for the game's backend",
        "Matches", lambda at: QueueMatches(at.services),
        rights="matches",
        parameters=(
            _AFTER,
            in_query("wait", _SECONDS, "Wait this long for a match if there is none."),
        ),
        answers={"200": {"content": {**content(ref(FeedPage))["content"], **_STREAM["content"]}}},
        errors="400 404 410 503",
    ),
    Operation(
        "GET", "/v1/dashboard/events", "followDashboard",
        "The last hour, then a snapshot a second: `queues`, `hour`, `matches`, `tick`",
        "Dashboard", lambda at: dashboard.DashboardEvents(at.services),
        rights=_SEEN, is_queried=True,
        parameters=(
            in_query("queue", _TEXT, "Which queue; the first one if it is left out."),
        ),
        answers={"200": _STREAM}, errors="400 404 503",
    ),
    Operation(
        "GET", "/v1/dashboard/matches/{match}", "getMatchStory",
        "Who waited how long for a match, and what each criterion cost",
        "Dashboard", lambda at: dashboard.DashboardMatch(at.services),
        rights=_SEEN, answers={"200": MatchShown}, errors="404 410 503",
    ),
    Operation(
        "GET", "/dashboard/{file}", "getPageFile", "A file of the dashboard",
        "Dashboard", lambda _: dashboard.get_file,
        rights="anyone", answers={"200": _FILE, "304": None}, errors="404",
    ),
)  # fmt: skip

OPERATORS = (
    Operation(
        "GET", "/v1/config", "getConfig", "The configuration in force",
        "Operations", lambda at: OperatorRoutes(at.services).get_config,
        rights="operate", answers={"200": operate.ConfigState}, errors="400 503",
    ),
    Operation(
        "PUT", "/v1/config", "putConfig", "Bring a configuration into force, all of it or nothing",
        "Operations", lambda at: OperatorRoutes(at.services).put_config,
        rights="operate", is_audited=True,
        parameters=(
            in_query(
                "dry_run",
                {"enum": ["0", "1", "true", "false"]},
                "1: say what it would do, do nothing.",
            ),
            in_query("if_version", _WHOLE, "Refuse unless this version is in force."),
        ),
        request=_CONFIG, answers={"200": operate.ConfigChanged}, errors="400 409 413 501 503",
    ),
    Operation(
        "POST", "/v1/queues/{queue}/pause", "pauseQueue", "Take no tickets, make no matches",
        "Operations", lambda at: OperatorRoutes(at.services).pause,
        rights="operate", is_audited=True,
        answers={"200": operate.QueuePaused}, errors="404 409 503",
    ),
    Operation(
        "POST", "/v1/queues/{queue}/resume", "resumeQueue", "Let a paused queue go on",
        "Operations", lambda at: OperatorRoutes(at.services).resume,
        rights="operate", is_audited=True,
        answers={"200": operate.QueuePaused}, errors="404 409 503",
    ),
    Operation(
        "PUT", "/v1/queues/{queue}/policy", "putQueuePolicy",
        "Let another policy decide; tickets wait on",
        "Operations", lambda at: OperatorRoutes(at.services).put_policy,
        rights="operate", is_audited=True, request=operate.SetPolicy,
        answers={"200": operate.QueuePolicy}, errors="400 404 409 413 501 503",
    ),
    Operation(
        "PUT", "/v1/queues/{queue}/shadow", "putQueueShadow",
        "Count what another policy would do, beside the live one",
        "Operations", lambda at: OperatorRoutes(at.services).put_shadow,
        rights="operate", is_audited=True, request=operate.SetShadow,
        answers={"200": operate.QueueShadow}, errors="400 404 409 413 501 503",
    ),
    Operation(
        "GET", "/v1/drain", "getDrain", "Is the server about to stop?",
        "Operations", lambda at: OperatorRoutes(at.services).get_drain,
        rights="operate", answers=_DRAIN, errors="400",
    ),
    Operation(
        "POST", "/v1/drain", "beginDrain",
        "Take no new tickets, and stop when nobody is waiting any more",
        "Operations", lambda at: OperatorRoutes(at.services).begin_drain,
        rights="operate", is_audited=True,
        parameters=(
            in_query(
                "limit",
                _SECONDS,
                "Stop after so many seconds even if tickets still wait; left out: "
                "[server] drain_max.",
            ),
        ),
        answers=_DRAIN, errors="400",
    ),
    Operation(
        "DELETE", "/v1/drain", "endDrain", "Take tickets again",
        "Operations", lambda at: OperatorRoutes(at.services).end_drain,
        rights="operate", is_audited=True, answers=_DRAIN, errors="400",
    ),
)  # fmt: skip

ACCOUNTS = (
    Operation(
        "POST", "/v1/guests", "makeGuest",
        "Give a device a player's token, where the server takes guests",
        "Players", lambda at: AccountRoutes(at.accounts).make_guest,
        rights="anyone", answers={"201": GuestToken}, errors="501",
    ),
    Operation(
        "GET", "/v1/audit", "getAudit", "Who did what when",
        "Operations", lambda at: AccountRoutes(at.accounts).get_audit,
        rights="operate",
        parameters=(
            in_query("after", _WHOLE, "`next` of the page before; left out: the last entries."),
            in_query(
                "most",
                {"type": "integer", "minimum": 1, "maximum": PAGE_MAX},
                "Entries of a page.",
            ),
        ),
        answers={"200": AuditPage}, errors="400",
    ),
)  # fmt: skip

PAGES = (
    Operation(
        "GET", "/openapi.json", "getDocument", "This document",
        "Server", lambda _: _document(),
        rights="anyone", answers={"200": _ANY},
    ),
    Operation(
        "GET", "/", "getPage", "The dashboard",
        "Server", lambda _: dashboard.get_page,
        rights="anyone", answers={"200": _PAGE, "304": None},
    ),
    Operation(
        "POST", "/", "gameLift", "A call of Amazon GameLift, as its own clients make it",
        "GameLift", lambda at: GameLiftRoute(at.services).answer,
        rights="tickets operate read", parameters=(_TARGET,), request=_AWS,
        answers={"200": _AWS, "400": _AWS, "413": None, "503": None},
    ),
    Operation(
        "POST", "/service/GameLift/operation/{operation}", "gameLiftCbor",
        "The same calls as RPC v2 CBOR, which AWS's clients may send instead",
        "GameLift", lambda at: GameLiftRoute(at.services).answer_cbor,
        rights="tickets operate read", parameters=(_FORM,), request=_CBOR,
        answers={"200": _CBOR, "400": _CBOR, "413": None, "503": None},
    ),
    Operation(
        "GET", "/v1/gamelift/events", "followGameLift",
        "The events of FlexMatch as server-sent events, each an envelope of EventBridge; "
        "`Last-Event-ID` takes up where a client left off",
        "GameLift", lambda at: GameLiftEventStream(at.services),
        rights="matches operate",
        parameters=(
            in_query("configuration", _TEXT, "Only events of this one, by its name or ARN."),
        ),
        answers={"200": _STREAM}, errors="400 503",
    ),
    Operation(
        "GET", "/metrics", "getMetrics", "Prometheus metrics",
        "Server", lambda at: Routes(at.services).metrics,
        rights=_SEEN, answers={"200": content(_TEXT, "text/plain")},
    ),
    Operation(
        "GET", "/healthz", "getHealth", "Does the process live?",
        "Server", lambda at: Routes(at.services).healthz,
        rights="anyone", answers={"200": _ANY},
    ),
    Operation(
        "GET", "/readyz", "getReadiness", "Does it take tickets?",
        "Server", lambda at: Routes(at.services).readyz,
        rights="anyone", answers={"200": _ANY, "503": _ANY},
    ),
    Operation(
        "GET", "/docs", "getApiPage", "This document as a page to browse",
        "Server", lambda _: api_page.get_page,
        rights="anyone", answers={"200": _PAGE, "304": None},
    ),
    Operation(
        "GET", "/docs/{file}", "getApiPageFile", "A file of that page",
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

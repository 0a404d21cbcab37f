// Written by `make client-ts` from the server's OpenAPI document; change that instead.

import { Connection, type CallOptions, type StreamOptions } from "./runtime.js";

export { Connection, ServerRefused } from "./runtime.js";

/** A party asks to play. */
export interface CreateTicket {
  players: Array<Player>;
  queues?: Array<string>;
  attributes?: Record<string, number | string | Array<string> | Record<string, number>>;
}

/** A person who wants to play. */
export interface Player {
  id: string;
  rating?: Rating | null;
  attributes?: Record<string, number | string | Array<string> | Record<string, number>>;
  roles?: Array<string>;
}

/** A player's skill as a rating system sees it. */
export interface Rating {
  mean: number;
  deviation?: number;
  volatility?: number | null;
}

/** One created ticket of an array, with the HTTP status that it would have had alone. */
export interface ItemCreated {
  status: number;
  id: string;
  state: "waiting" | "proposed" | "matched" | "assigned" | "cancelled" | "expired";
  queues: Array<string>;
  enqueued_at: number;
}

/** One refused ticket of an array; the other tickets are not affected. */
export interface ItemProblem {
  status: number;
  error: "already_waiting" | "body_too_large" | "config_error" | "cooldown" | "draining" | "forbidden" | "forgotten" | "http_error" | "internal" | "invalid_outcome" | "invalid_request" | "invalid_ticket" | "key_reused" | "method_not_allowed" | "no_backfill" | "not_found" | "not_host" | "not_in_match" | "not_made" | "not_supported" | "origin_not_allowed" | "outcome_differs" | "outcome_disputed" | "overloaded" | "paused" | "proposal_over" | "request_timeout" | "stale_roster" | "stale_version" | "too_late" | "too_many_requests" | "unauthenticated" | "unavailable" | "unknown_match" | "unknown_player" | "unknown_queue" | "unknown_ticket" | "upgrade_required";
  message: string;
  where?: string;
  ticket?: string | null;
  match?: string | null;
  seconds?: number | null;
}

/** A ticket in a player's list. */
export interface TicketListed {
  id: string;
  state: "waiting" | "proposed" | "matched" | "assigned" | "cancelled" | "expired";
  wait: number;
  reason?: string | null;
  match?: string | null;
  assignment?: Record<string, string> | null;
  estimate?: Estimate | null;
  answer_within?: number;
  long_wait?: boolean;
  accepted?: Array<string>;
  queues: Array<string>;
  enqueued_at: number;
}

/** How long a waiting ticket will probably wait, seconds from now. */
export interface Estimate {
  p50: number;
  low: number;
  high: number;
}

/** Matches in order. */
export interface FeedPage {
  matches: Array<FeedMatch>;
  next: number;
}

/** A match in the feed. */
export interface FeedMatch {
  match: string;
  queue: string;
  at: number;
  tickets: Array<string>;
  teams: Array<Array<string>>;
  bots: number;
  cost: number;
  quality: number | null;
  players: Array<Array<string>>;
  assignment?: Record<string, string> | null;
  handicap?: Array<number>;
  roles?: Array<Array<string>>;
  region?: string;
  latency_delta?: Array<Array<number>>;
  hosts?: Array<string>;
  off_side?: Array<string>;
  state?: "proposed";
  accepted?: Array<string>;
  left?: Array<string>;
  outcome?: OutcomeState;
  extends?: string;
  void?: string;
  seq?: number;
}

/** The outcome of a match, as far as it is known. */
export interface OutcomeState {
  state: "counted" | "disputed" | "reported";
  ranks: Array<number> | null;
  reports?: Record<string, Array<number>>;
}

/** A queue, and how many tickets wait in it. */
export interface QueueState {
  name: string;
  players: Array<number>;
  wait_max: number | null;
  policy: string;
  waiting: number;
  fault?: string | null;
  paused?: boolean;
  parts?: number;
}

/** A match for which a server is being found. */
export interface AllocationState {
  match: string;
  queue: string;
  hook: string;
  state: "waiting" | "asked" | "told" | "paused" | "dead" | "void";
  attempts: number;
  reason: string | null;
}

/** A message by which a client of the stream says which tickets it follows. */
export interface FollowTickets {
  follow?: Array<string>;
  unfollow?: Array<string>;
  after?: number;
}

/** A ticket's new state. */
export interface StreamEvent {
  event: "waiting" | "proposed" | "matched" | "assigned" | "cancelled" | "expired";
  sequence: number;
  ticket: TicketState;
}

/** A ticket as its owner sees it. */
export interface TicketState {
  id: string;
  state: "waiting" | "proposed" | "matched" | "assigned" | "cancelled" | "expired";
  wait: number;
  reason?: "player" | "operator" | "silent" | "declined" | "waits_elsewhere" | "deadline" | "queue_changed" | null;
  match?: string | null;
  assignment?: Record<string, string> | null;
  estimate?: Estimate | null;
  answer_within?: number;
  long_wait?: boolean;
  accepted?: Array<string>;
}

/** An error of the stream. */
export interface StreamProblem {
  event: "problem";
  ticket: string | null;
  problem: Problem;
}

/** An error. */
export interface Problem {
  error: "already_waiting" | "body_too_large" | "config_error" | "cooldown" | "draining" | "forbidden" | "forgotten" | "http_error" | "internal" | "invalid_outcome" | "invalid_request" | "invalid_ticket" | "key_reused" | "method_not_allowed" | "no_backfill" | "not_found" | "not_host" | "not_in_match" | "not_made" | "not_supported" | "origin_not_allowed" | "outcome_differs" | "outcome_disputed" | "overloaded" | "paused" | "proposal_over" | "request_timeout" | "stale_roster" | "stale_version" | "too_late" | "too_many_requests" | "unauthenticated" | "unavailable" | "unknown_match" | "unknown_player" | "unknown_queue" | "unknown_ticket" | "upgrade_required";
  message: string;
  where?: string;
  ticket?: string | null;
  match?: string | null;
  next?: number | null;
  roster_version?: number | null;
  version?: number | null;
  seconds?: number | null;
}

/** A ticket that was created, or that its players already had. */
export interface TicketCreated {
  id: string;
  state: "waiting" | "proposed" | "matched" | "assigned" | "cancelled" | "expired";
  queues: Array<string>;
  enqueued_at: number;
}

/** How a cancelled ticket ended. */
export interface TicketCancelled {
  state: "cancelled" | "expired";
}

/** New attributes, ratings or roles of a waiting ticket; what you leave out stays as it is. */
export interface UpdateTicket {
  attributes?: Record<string, number | string | Array<string> | Record<string, number>>;
  players?: Array<Player>;
}

/** Why a ticket still waits, or how it ended. */
export interface Explanation {
  ticket: string;
  state: "waiting" | "proposed" | "matched" | "assigned" | "cancelled" | "expired";
  at: number;
  wait: number;
  players: number | null;
  match: string | null;
  reason: "player" | "operator" | "silent" | "declined" | "waits_elsewhere" | "deadline" | "queue_changed" | null;
  queues: Array<QueuePart>;
  check: Check | null;
  summary: string;
}

/** What holds for a ticket in one of its queues. */
export interface QueuePart {
  queue: string;
  policy: string;
  others: number;
  compared: number;
  allowed: number;
  rules: Array<Tolerance>;
  acceptance: Acceptance;
  seats: Seats;
  now: Prospect | null;
  later: Prospect | null;
  deadline_at: number | null;
  at_deadline: "bots" | "expire" | "keep" | null;
  reason: Reason;
  changes: Array<string>;
  summary: string;
}

/** Which other tickets of the queue one rule keeps apart from this ticket. */
export interface Tolerance {
  rule: "spread" | "mean_gap" | "imbalance" | "same" | "rematch" | "latency" | "party_parity" | "host_options" | "overlap" | "avoid" | "pair_limit" | "household_limit" | "fullness" | "role_rank" | "condition";
  attribute: string;
  unit: "difference" | "relative" | "percentile";
  accept: "both" | "either";
  limit: number;
  next_at: number | null;
  next_limit: number | null;
  final: number | null;
  is_pairwise: boolean;
  blocks: number;
  blocks_alone: number;
  blocks_forever: number;
  blocks_by_theirs?: number;
}

/** How many other tickets that fit into a match with this one accept it, or are accepted. */
export interface Acceptance {
  both: number;
  only_they: number;
  only_you: number;
  neither: number;
}

/** Whether party sizes, sides and roles allow a match. */
export interface Seats {
  misfits: number;
  fills: boolean;
  fills_without_rules: boolean;
  players_missing?: number;
  roles_missing?: Record<string, number>;
  sizes_missing?: Array<number>;
}

/** A match that this ticket could play. */
export interface Prospect {
  at: number;
  tickets: Array<string>;
  teams: Array<Array<string>>;
  quality: number | null;
  cost: number;
  criteria_cost: number;
  is_exact: boolean;
}

/** Why no match is made now. */
export interface Reason {
  code: "paused" | "policy_failed" | "delayed" | "held" | "computing" | "round" | "policy" | "alone" | "seats" | "not_yet" | "never" | "rules" | "not_searched";
  text: string;
  until?: number | null;
}

/** A ready-check that a ticket is in. */
export interface Check {
  match: string;
  queue: string;
  answer_by: number | null;
  accepted: Array<string>;
  awaited: Array<string>;
  free_seats?: number;
  repair_until?: number | null;
  quality?: number | null;
}

/** Who plays whom. */
export interface MatchState {
  match: string;
  queue: string;
  at: number;
  tickets: Array<string>;
  teams: Array<Array<string>>;
  bots: number;
  cost: number;
  quality: number | null;
  players: Array<Array<string>>;
  assignment?: Record<string, string> | null;
  handicap?: Array<number>;
  roles?: Array<Array<string>>;
  region?: string;
  latency_delta?: Array<Array<number>>;
  hosts?: Array<string>;
  off_side?: Array<string>;
  state?: "proposed";
  accepted?: Array<string>;
  left?: Array<string>;
  outcome?: OutcomeState;
  extends?: string;
  void?: string;
}

/** How a match ended. */
export interface ReportOutcome {
  ranks?: Array<number> | null;
  points?: Array<number> | null;
  handicap?: Array<number> | null;
  teams?: Array<Array<string>>;
  quitters?: Array<string>;
  wide?: boolean | null;
  player?: string | null;
}

/** A player's rating in a ladder. */
export interface PlayerRating {
  player: string;
  ladder: string;
  mean: number;
  deviation: number;
  volatility: number | null;
}

/** A ticket's answer to a ready-check. */
export interface AnswerCheck {
  ticket: string;
  players?: Array<string>;
}

/** A running match asks for players; the same request again is a heartbeat. */
export interface OpenForBackfill {
  roster_version: number;
  left?: Array<string>;
  free?: Array<number>;
  priority?: "high" | "low" | "normal";
  lease?: number;
  quality_floor?: number;
}

/** Who plays in a running match, and whom it asks for. */
export interface BackfillState {
  match: string;
  open: boolean;
  roster_version: number;
  players: Array<Array<string>>;
  left: Array<string>;
  free: Array<number>;
  wanted: Array<number>;
  fills: Array<string>;
  expires_in?: number | null;
  proposed?: string;
}

/** The figures of a queue, with those of policies that operators try out on it. */
export interface QueueReport {
  queue: string;
  now: number;
  waiting: number;
  arrivals_per_minute: number;
  matches_per_minute: number;
  wait: WaitStats;
  arrivals: number;
  matched: number;
  matches: number;
  recent: Array<MatchState>;
  estimate?: Estimate | null;
  cells?: Array<CellWait>;
  shadow?: ShadowStats | null;
  switchback?: SwitchbackStats | null;
}

/** Waits of the most recently matched players, in seconds; null before the first match. */
export interface WaitStats {
  p50: number | null;
  p90: number | null;
  p99: number | null;
}

/** How long new tickets of one cell will probably wait, in seconds; see `Estimate`. */
export interface CellWait {
  size: number;
  region: string | null;
  decile: number | null;
  waiting: number;
  matches: number;
  p50: number;
  low: number;
  high: number;
}

/** A shadow policy that runs beside the live one, on the same arrivals. */
export interface ShadowStats {
  policy: string;
  state: "running" | "dropped";
  reason: string | null;
  since: number;
  now: number;
  merged: number;
  live: WorldFigures | null;
  shadow: WorldFigures | null;
}

/** What one policy, live or shadow, has done for a queue since both have been counted. */
export interface WorldFigures {
  matches: number;
  matches_per_minute: number;
  players: number;
  wait_mean: number | null;
  wait: WaitStats;
  quality_mean: number | null;
  bots: number;
  expired: number;
  waiting: number;
  waiting_age: number | null;
}

/** Policies that take turns in blocks of time. */
export interface SwitchbackStats {
  policy: string;
  block_ends: number;
  rounds: number;
  arms: Array<ArmFigures>;
}

/** What one policy of a switchback did for the tickets that arrived in its blocks. */
export interface ArmFigures {
  policy: string;
  blocks: number;
  tickets: number;
  players: number;
  wait_mean: number | null;
  quality_mean: number | null;
  expired: number;
  difference: number | null;
  difference_half: number | null;
  quality_difference: number | null;
  quality_difference_half: number | null;
}

/** The longest waiting tickets of a queue. */
export interface LongestWaiting {
  queue: string;
  at: number;
  waiting: number;
  tickets: Array<LongWait>;
}

/** A ticket in the list of the longest waiting. */
export interface LongWait {
  ticket: string;
  wait: number;
  size: number;
  code: "paused" | "policy_failed" | "delayed" | "held" | "computing" | "round" | "policy" | "alone" | "seats" | "not_yet" | "never" | "rules" | "not_searched";
  summary: string;
}

/** How a match came about. */
export interface MatchShown {
  match: string;
  queue: string;
  policy: string;
  at: number;
  record: number;
  teams: Array<Array<PartyShown>>;
  bots: number;
  quality: number | null;
  cost: number;
  waiting: number | null;
  factors: Array<Factor> | null;
  gaps: Array<GapShown>;
  region?: string | null;
}

/** A ticket of a match. */
export interface PartyShown {
  ticket: string;
  players: Array<string>;
  wait: number | null;
  rating: number | null;
  roles?: Array<string>;
  latency_delta?: Array<number>;
}

/** What a criterion cost in a match. */
export interface Factor {
  name: string;
  cost: number;
  weighted: number;
}

/** A gap of a match, or of the last matches on average, in the unit of what is compared. */
export interface GapShown {
  name: string;
  unit: string;
  value: number;
  shown: string;
  text: string;
}

/** The configuration in force. */
export interface ConfigState {
  version: number;
  source: string;
  paused: Array<string>;
  config: Record<string, unknown> | null;
}

/** What a change of the configuration did, or would do. */
export interface ConfigChanged {
  version: number;
  dry_run: boolean;
  queues: Array<string>;
  expired: number;
  left: number;
  overdue: number;
  at_restart?: Array<string>;
}

/** Whether a queue is paused now. */
export interface QueuePaused {
  queue: string;
  paused: boolean;
}

/** The policy that is to make the matches. */
export interface SetPolicy {
  policy: string;
}

/** The policy of a queue. */
export interface QueuePolicy {
  queue: string;
  policy: string;
  version: number;
}

/** The policy to run as a shadow. */
export interface SetShadow {
  policy: string | null;
}

/** The shadow policy of a queue. */
export interface QueueShadow {
  queue: string;
  policy: string | null;
  version: number;
}

/** Whether the server is draining: it takes no new tickets and is about to stop. */
export interface DrainState {
  draining: boolean;
  waiting: number;
  seconds_left: number | null;
}

/** A guest's player token. */
export interface GuestToken {
  player: string;
  token: string;
  expires_at: number;
}

/** Entries of the audit log in order. */
export interface AuditPage {
  entries: Array<AuditEntry>;
  next: number;
}

/** One entry of the audit log: something that somebody did. */
export interface AuditEntry {
  seq: number;
  at: number;
  who: string;
  action: string;
  kind?: "service" | "player" | "local" | "nobody" | "server" | "";
  key?: string;
  target?: string;
  status?: number;
  address?: string;
  detail?: string;
  count?: number;
}

export class Evenmatch extends Connection {
  /** Get a player's tickets, newest first: those that wait, and those that ended lately. */
  getTickets(query?: { player?: string }, options?: CallOptions): Promise<Array<TicketListed>>;
  /** Create one ticket or many, which then wait for a match. */
  createTickets(body: CreateTicket, options?: CallOptions & { key?: string }): Promise<TicketCreated>;
  createTickets(body: Array<CreateTicket>, options?: CallOptions & { key?: string }): Promise<Array<ItemCreated | ItemProblem>>;
  /** Get the state of a ticket. */
  getTicket(ticket: string, query?: { wait?: number; state?: "waiting" | "proposed" | "matched" | "assigned" | "cancelled" | "expired" | ""; match?: string }, options?: CallOptions): Promise<TicketState>;
  /** Cancel a ticket. */
  cancelTicket(ticket: string, options?: CallOptions): Promise<TicketCancelled>;
  /** Update a waiting ticket. */
  updateTicket(ticket: string, body: UpdateTicket, options?: CallOptions): Promise<TicketState>;
  /** Say that a client is still there. */
  heartbeat(ticket: string, options?: CallOptions): Promise<TicketState>;
  /** Follow a ticket's changes of state as server-sent events; 204 when it has ended. */
  followTicket(ticket: string, options?: StreamOptions): AsyncGenerator<TicketState, void, undefined>;
  /** Explain why a ticket still waits, or how it ended. */
  explainTicket(ticket: string, options?: CallOptions): Promise<Explanation>;
  /** Get a match. */
  getMatch(match: string, options?: CallOptions): Promise<MatchState>;
  /** Say where a match is played. */
  assignMatch(match: string, body: Record<string, string>, options?: CallOptions): Promise<MatchState>;
  /** Report how a match ended, as the game's backend or as one of its players. */
  reportOutcome(match: string, body: ReportOutcome, options?: CallOptions): Promise<MatchState>;
  /** Get a player's rating. */
  getRating(player: string, query?: { queue?: string }, options?: CallOptions): Promise<PlayerRating>;
  /** End a live match. */
  finishMatch(match: string, options?: CallOptions): Promise<MatchState>;
  /** Accept a proposed match. */
  acceptMatch(match: string, body: AnswerCheck, options?: CallOptions): Promise<TicketState>;
  /** Decline a proposed match. */
  declineMatch(match: string, body: AnswerCheck, options?: CallOptions): Promise<TicketState>;
  /** Ask for players for a running match; send it again as a heartbeat. */
  openMatch(match: string, body: OpenForBackfill, options?: CallOptions): Promise<BackfillState>;
  /** Get the players and free seats of a running match. */
  getOpenMatch(match: string, options?: CallOptions): Promise<BackfillState>;
  /** Stop asking for players. */
  closeMatch(match: string, options?: CallOptions): Promise<BackfillState>;
  /** Get the matches that have no server yet, and those whose allocation failed. */
  getAllocations(query?: { state?: "waiting" | "asked" | "told" | "paused" | "dead" | "void" }, options?: CallOptions): Promise<Array<AllocationState>>;
  /** Ask again for a server for a match. */
  retryAllocation(match: string, options?: CallOptions): Promise<Array<AllocationState>>;
  /** Get all queues. */
  getQueues(options?: CallOptions): Promise<Array<QueueState>>;
  /** Get the figures of a queue. */
  getQueueStats(queue: string, options?: CallOptions): Promise<QueueReport>;
  /** Get the longest waiting tickets, each with a sentence about why it waits. */
  getLongestWaiting(queue: string, query?: { most?: number }, options?: CallOptions): Promise<LongestWaiting>;
  /** Read a queue's matches in order, each at least once. */
  getQueueMatches(queue: string, query?: { after?: number; wait?: number }, options?: CallOptions): Promise<FeedPage>;
  /** Follow a queue: the last hour, then a snapshot per second, as the events `queues`, `hour`, `matches` and `tick`. */
  followDashboard(options?: StreamOptions): AsyncGenerator<unknown, void, undefined>;
  /** Get how long each player waited for a match, and what each criterion cost. */
  getMatchStory(match: string, options?: CallOptions): Promise<MatchShown>;
  /** Get the configuration in force. */
  getConfig(options?: CallOptions): Promise<ConfigState>;
  /** Replace the configuration, all of it or nothing. */
  putConfig(body: Record<string, unknown>, query?: { dry_run?: "0" | "1" | "true" | "false"; if_version?: number }, options?: CallOptions): Promise<ConfigChanged>;
  /** Pause a queue: it takes no tickets and makes no matches. */
  pauseQueue(queue: string, options?: CallOptions): Promise<QueuePaused>;
  /** Resume a paused queue. */
  resumeQueue(queue: string, options?: CallOptions): Promise<QueuePaused>;
  /** Replace a queue's policy; its tickets wait on. */
  putQueuePolicy(queue: string, body: SetPolicy, options?: CallOptions): Promise<QueuePolicy>;
  /** Run a shadow policy beside the live one and count what it would do. */
  putQueueShadow(queue: string, body: SetShadow, options?: CallOptions): Promise<QueueShadow>;
  /** Get whether the server is draining. */
  getDrain(options?: CallOptions): Promise<DrainState>;
  /** Drain the server: take no new tickets, and stop when no ticket waits any more. */
  beginDrain(query?: { limit?: number }, options?: CallOptions): Promise<DrainState>;
  /** Stop draining and take tickets again. */
  endDrain(options?: CallOptions): Promise<DrainState>;
  /** Get a player token for a guest, if the server takes guests. */
  makeGuest(options?: CallOptions): Promise<GuestToken>;
  /** Read the audit log: who did what, and when. */
  getAudit(query?: { after?: number; most?: number }, options?: CallOptions): Promise<AuditPage>;
  /** Follow FlexMatch's events as server-sent events, each in an EventBridge envelope; with `Last-Event-ID` the stream goes on where the client left off. */
  followGameLift(options?: StreamOptions): AsyncGenerator<unknown, void, undefined>;
  /** Get metrics for Prometheus. */
  getMetrics(options?: CallOptions): Promise<string>;
  /** Get whether the server is alive. */
  getHealth(options?: CallOptions): Promise<Record<string, unknown>>;
  /** Get whether the server takes tickets. */
  getReadiness(options?: CallOptions): Promise<Record<string, unknown>>;
  /** Many tickets over one WebSocket; survives lost connections, misses and repeats nothing. */
  stream(
    tickets: Iterable<string>,
    options?: StreamOptions,
  ): AsyncGenerator<StreamEvent | StreamProblem, void, undefined>;
}

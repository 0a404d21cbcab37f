// Types of `runtime.js`.

export interface ConnectionOptions {
  /** A service key or a player's token. */
  token?: string | null;
  /** How often a request is tried; 1 repeats nothing. */
  tries?: number;
  /** Milliseconds to wait for an answer, 30,000; for a long poll as many more as its `wait`. */
  timeout?: number;
  /** The first pause is up to so many milliseconds, each further one up to twice as many. */
  firstPause?: number;
  /** Draws the pauses, a number in [0, 1). */
  chance?: () => number;
}

export interface CallOptions {
  /** Ends the request, its repeats and the pauses between them. */
  signal?: AbortSignal;
}

export interface RequestOptions extends CallOptions {
  query?: Record<string, string | number | boolean | undefined>;
  body?: unknown;
  key?: string;
  mayRepeat?: boolean;
}

export interface StreamOptions {
  /** Ends the stream. */
  signal?: AbortSignal;
}

export interface ProblemBody {
  error: string;
  message: string;
  where?: string;
  ticket?: string | null;
  match?: string | null;
  next?: number | null;
  /** After which the same may be asked again, where that is known. */
  seconds?: number | null;
}

export class ServerRefused extends Error {
  constructor(status: number, problem: ProblemBody, retryAfter?: number);
  readonly status: number;
  readonly code: string;
  readonly problem: ProblemBody;
  /** Seconds after which the same may be tried again. */
  readonly retryAfter: number;
  get isPassing(): boolean;
}

/** A new idempotency key. */
export function newKey(): string;

export class Connection {
  constructor(url: string, options?: ConnectionOptions);
  readonly url: string;
  request<T>(method: string, path: string, options?: RequestOptions): Promise<T>;
  events<T>(path: string, options?: StreamOptions): AsyncGenerator<T, void, undefined>;
}

import { setMaxListeners } from 'node:events'
import { Backoff, pause } from '../backoff.js'
import { DulyApiError, DulyConnectionError } from '../errors.js'
import { type Answer, createTransport, type Transport } from '../transport/transport.mjs'
import type { ResolvedOptions } from './options.js'
import { connectionErrorOf, problemOf } from './problems.js'

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below `/api/v1`, e.g. `/tasks`. */
  readonly path: string
  /** JSON text. */
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Whether doing it twice does no more than doing it once; only then is a request without an answer repeated. */
  readonly repeatable: boolean
  /** How long the server may hold the answer, ms. */
  readonly waitMs?: number
  readonly signal?: AbortSignal | undefined
  /** Take an answer of this type as it comes. */
  readonly streams?: string
}

export interface ApiAnswer<T> {
  readonly status: number
  readonly body: T
  /** The body as it came. */
  readonly text: string
  /** Null: the answer is no stream. */
  readonly chunks: AsyncIterable<Buffer> | null
}

/** Longest `Retry-After` and longest delay between two tries, ms. */
const LONGEST_DELAY_MS = 5_000

/** Requests of the client API: JSON in and out, problems as errors, safe retries. */
export class HttpClient {
  readonly #options: ResolvedOptions
  readonly #transport: Transport
  /** Held answers have connections of their own: a thousand waits must not keep a submission from its socket. */
  readonly #waiting: Transport

  constructor(options: ResolvedOptions) {
    this.#options = options
    this.#transport = createTransport(options)
    this.#waiting = createTransport(options)
  }

  /**
   * The answer's status and body; statuses from 300 on are thrown.
   *
   * @throws DulyApiError, DulyConnectionError; the signal's reason when it aborts
   */
  async call<T>(request: ApiRequest): Promise<ApiAnswer<T>> {
    // One signal may serve a thousand waits; each takes its listeners off again.
    if (request.signal !== undefined) setMaxListeners(0, request.signal)
    const backoff = new Backoff({ baseMs: 100, capMs: LONGEST_DELAY_MS })
    for (;;) {
      try {
        return (await this.#once(request)) as ApiAnswer<T>
      } catch (error) {
        request.signal?.throwIfAborted()
        if (backoff.failures >= this.#options.retries || !mayRepeat(error, request.repeatable)) throw error
        await pause(backoff.next(error instanceof DulyApiError ? error.retryAfterMs : null), request.signal)
      }
    }
  }

  close(): void {
    this.#transport.close()
    this.#waiting.close()
  }

  async #once(request: ApiRequest): Promise<ApiAnswer<unknown>> {
    const { method, path, body, signal, streams, waitMs = 0 } = request
    const headers =
      streams === undefined ? request.headers : { ...request.headers, accept: `${streams}, application/json` }
    const transport = waitMs > 0 ? this.#waiting : this.#transport
    const timeoutMs = this.#options.timeoutMs + waitMs
    let answer: Answer
    try {
      answer = await transport.send({ method, path: `/api/v1${path}`, body, headers, timeoutMs, signal, streams })
    } catch (error) {
      throw connectionErrorOf(error)
    }
    if (answer.status >= 300) throw problemOf(answer)
    const { status, chunks, body: text } = answer
    return { status, body: parseBody(answer, this.#options.url), text, chunks }
  }
}

/**
 * Whether the same request may be sent once more: it surely had no effect (429, 503, never connected), or an effect that
 * a second one does not add to. A 503 `commit_unknown` may have had its effect.
 */
export function mayRepeat(error: unknown, repeatable: boolean): boolean {
  if (error instanceof DulyConnectionError) return error.code !== 'ABORTED' && (repeatable || !error.mayHaveArrived)
  if (!(error instanceof DulyApiError)) return false
  const refused = error.status === 429 || (error.status === 503 && error.code !== 'commit_unknown')
  return refused || (repeatable && error.status >= 500 && error.status !== 501)
}

function parseBody(answer: Answer, url: string): unknown {
  if (answer.body === '') return undefined
  try {
    return JSON.parse(answer.body)
  } catch (cause) {
    throw new DulyConnectionError('NOT_JSON', `${url}: the answer is not JSON`, { mayHaveArrived: true, cause })
  }
}

import type { ResolvedOptions } from '../client/options.js'
import { connectionErrorOf, problemOf } from '../client/problems.js'
import { DulyApiError, DulyConnectionError } from '../errors.js'
import { type Answer, createTransport, type Transport } from '../transport/transport.mjs'
import { monotonicMs } from './monotonic.mjs'
import type { Session } from './session.js'
import type { WireRegistration, WireSession } from './wire.js'

export interface CallOptions {
  /** How long the server may hold the answer, ms. */
  readonly waitMs?: number
  readonly signal?: AbortSignal | undefined
  /** The request was handed to the operating system, or failed. */
  readonly onSent?: (() => void) | undefined
}

type CallName = 'poll' | 'report' | 'exchange' | 'heartbeat' | 'dependency-results'
type Method = 'POST' | 'DELETE'

/** Silence after which a call counts as failed, ms, beyond what the server may hold it. */
const PATIENCE_MS = 10_000

/** One poll, one report, some pushed heartbeats; a few spare ones for calls that overlap. */
const MAX_SOCKETS = 8

/** Is told how each call went. */
export interface CallWatcher {
  answered(): void
  failed(error: unknown): void
}

/** The calls of the worker protocol, once each: whoever calls decides about repeating. */
export class WorkerApi {
  readonly #transport: Transport
  readonly #url: string
  readonly #watcher: CallWatcher

  constructor(options: ResolvedOptions, watcher: CallWatcher) {
    this.#url = options.url
    this.#watcher = watcher
    this.#transport = createTransport({ ...options, maxSockets: MAX_SOCKETS })
  }

  register(registration: WireRegistration, signal: AbortSignal): Promise<WireSession> {
    return this.#send('POST', '/api/v1/workers', JSON.stringify(registration), { signal }) as Promise<WireSession>
  }

  /** `body` is JSON text: results were written as text already, to measure them. */
  async call(session: Session, name: CallName, body: string, options: CallOptions = {}): Promise<unknown> {
    const sentAt = monotonicMs()
    try {
      const answer = await this.#send('POST', `/api/v1/workers/${session.id}/${name}`, body, options)
      // No other call renews the lease.
      if (name === 'heartbeat') session.lease.renewed(sentAt)
      return answer
    } catch (error) {
      if (isDenied(error)) session.lease.denied()
      throw error
    }
  }

  async leave(sessionId: string, signal: AbortSignal): Promise<void> {
    await this.#send('DELETE', `/api/v1/workers/${sessionId}`, undefined, { signal })
  }

  close(): void {
    this.#transport.close()
  }

  async #send(method: Method, path: string, body: string | undefined, options: CallOptions): Promise<unknown> {
    try {
      const answer = await this.#exchange(method, path, body, options)
      this.#watcher.answered()
      return answer
    } catch (error) {
      if (options.signal?.aborted !== true) this.#watcher.failed(error)
      throw error
    }
  }

  async #exchange(method: Method, path: string, body: string | undefined, options: CallOptions): Promise<unknown> {
    const { waitMs = 0, signal, onSent } = options
    let answer: Answer
    try {
      answer = await this.#transport.send({ method, path, body, signal, onSent, timeoutMs: PATIENCE_MS + waitMs })
    } catch (error) {
      throw connectionErrorOf(error)
    }
    if (answer.status >= 300) throw problemOf(answer)
    try {
      return answer.body === '' ? undefined : JSON.parse(answer.body)
    } catch (cause) {
      throw new DulyConnectionError('NOT_JSON', `${this.#url}: the answer is not JSON`, { mayHaveArrived: true, cause })
    }
  }
}

/** The server does not know this session any more: its leases are gone, a new one is needed. */
export function isSessionLost(error: unknown): boolean {
  return error instanceof DulyApiError && error.code === 'session_lost'
}

/** The key is not good, or no longer: no lease is renewed with it. */
function isDenied(error: unknown): boolean {
  return error instanceof DulyApiError && isDenial(error.status)
}

export function isDenial(status: number | null): boolean {
  return status === 401 || status === 403
}

/** The request itself is wrong; sent again as it is, it would be refused again. */
export function isRefusal(error: unknown): error is DulyApiError {
  return error instanceof DulyApiError && (error.status === 400 || error.status === 413 || error.status === 422)
}

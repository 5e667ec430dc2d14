import { DulyApiError, DulyConnectionError } from '../errors.js'

/** A server that fails now and then is not told of more often than this, ms. */
const AGAIN_AFTER_MS = 5_000

export interface OutageListener {
  /** One sentence for a person: the address, the reason, and that it is tried again. */
  began(message: string): void
  ended(message: string): void
}

type Kind = 'unreachable' | 'refusing'

/**
 * Tells once that the server is away, however many calls fail meanwhile, and once that it is back. A server that answers
 * 401, 403 or 5xx is away too, for a worker: it gets no task.
 */
export class Outage {
  readonly #url: string
  readonly #listener: OutageListener
  #current: { readonly kind: Kind; readonly beganAt: number } | null = null
  #toldAt = Number.NEGATIVE_INFINITY

  constructor(url: string, listener: OutageListener) {
    this.#url = url
    this.#listener = listener
  }

  /** A call got an answer that it can work with. */
  answered(now: number = performance.now()): void {
    if (this.#current === null) return
    const seconds = Math.round((now - this.#current.beganAt) / 100) / 10
    this.#current = null
    this.#listener.ended(`${this.#url} answers again after ${seconds} s`)
  }

  /** The server was heard, if not in a call that brings tasks. */
  heard(now?: number): void {
    if (this.#current?.kind === 'unreachable') this.answered(now)
  }

  /** A call failed. */
  failed(error: unknown, now: number = performance.now()): void {
    const kind = kindOf(error)
    if (kind === null) {
      if (error instanceof DulyApiError) this.answered(now)
    } else {
      const said = (error as Error).message
      this.#begin(kind, kind === 'refusing' ? `${this.#url} answers: ${said}` : `no answer from ${said}`, now)
    }
  }

  /** A heartbeat, which has a connection of its own, got no answer. */
  unheard(reason: string, now: number = performance.now()): void {
    this.#begin('unreachable', `no answer from ${this.#url}: ${reason}`, now)
  }

  #begin(kind: Kind, message: string, now: number): void {
    if (this.#current !== null || now - this.#toldAt < AGAIN_AFTER_MS) return
    this.#current = { kind, beganAt: now }
    this.#toldAt = now
    this.#listener.began(`${message.replace(/\.$/, '')}; retrying`)
  }
}

function kindOf(error: unknown): Kind | null {
  if (error instanceof DulyConnectionError) return error.code === 'ABORTED' ? null : 'unreachable'
  if (!(error instanceof DulyApiError)) return null
  return error.status >= 500 || error.status === 401 || error.status === 403 ? 'refusing' : null
}

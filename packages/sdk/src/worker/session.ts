import { setMaxListeners } from 'node:events'
import { LeaseWatch } from './lease-watch.js'
import { monotonicMs } from './monotonic.mjs'
import { Reports } from './reports.js'
import { SeenLeases } from './seen-leases.js'
import type { WireSession } from './wire.js'

/**
 * One registration of this worker: everything that ends with it. A dead session is never revived; a new one starts from
 * nothing.
 */
export class Session {
  readonly id: string
  readonly heartbeatMs: number
  readonly reports = new Reports()
  readonly seen = new SeenLeases()
  readonly lease: LeaseWatch
  /** Aborts when the session is lost or left: ends every call made in its name. */
  readonly #end = new AbortController()
  #received = 0

  /** @param sentAt when the registration left, by {@link monotonicMs} */
  constructor(wire: WireSession, sentAt: number = monotonicMs()) {
    // Every call of the session listens while it is under way.
    setMaxListeners(0, this.#end.signal)
    this.id = wire.worker_id
    this.heartbeatMs = wire.heartbeat_seconds * 1_000
    this.lease = new LeaseWatch(wire.lease_seconds * 1_000, sentAt)
    this.#end.signal.addEventListener('abort', () => this.lease.close(), { once: true })
  }

  /** Highest grant number that arrived here; carried by each poll and beat, it acknowledges all up to it. */
  get received(): number {
    return this.#received
  }

  get ended(): AbortSignal {
    return this.#end.signal
  }

  /** Notes the arrival of a grant. */
  receive(grant: number): void {
    if (grant > this.#received) this.#received = grant
  }

  end(reason: Error): void {
    this.#end.abort(reason)
  }
}

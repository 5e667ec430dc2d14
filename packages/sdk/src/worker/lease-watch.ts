import { monotonicMs } from './monotonic.mjs'

export interface LeaseWatchPorts {
  /** The server refuses the key; unless that changes, the lease is over after `leftMs`. */
  denied(leftMs: number): void
  /** The key works again, in time. */
  allowed(): void
  /** The lease is over and cannot be renewed: the attempts run elsewhere. */
  over(): void
}

/**
 * Knows when the leases of a session whose key is refused (401, 403) are over: `leaseMs` after the last heartbeat that was
 * answered had *left*, by the monotonic clock. The server counts from its arrival, so the handlers end before others begin.
 *
 * Only a refused key starts it. A server that is silent, or answers 5xx, is an outage, and an outage ends no session: the
 * server extends the leases when it is back, and work that went on is not lost.
 */
export class LeaseWatch {
  readonly #leaseMs: number
  readonly #now: () => number
  #ports: LeaseWatchPorts | null = null
  #renewedAt: number
  #deniedAt: number | null = null
  #timer: NodeJS.Timeout | null = null

  /** @param sentAt when the registration left, by {@link monotonicMs} */
  constructor(leaseMs: number, sentAt: number, now: () => number = monotonicMs) {
    this.#leaseMs = leaseMs
    this.#renewedAt = sentAt
    this.#now = now
  }

  /** Tells these from now on. */
  follow(ports: LeaseWatchPorts): void {
    this.#ports = ports
  }

  /** A heartbeat that left then was answered. One that left before the refusal says nothing about the key now. */
  renewed(sentAt: number): void {
    this.#renewedAt = Math.max(this.#renewedAt, sentAt)
    if (this.#deniedAt === null || sentAt <= this.#deniedAt) return
    this.#stop()
    this.#ports?.allowed()
  }

  /** A call was answered 401 or 403. */
  denied(): void {
    if (this.#ports === null || this.#deniedAt !== null) return
    this.#deniedAt = this.#now()
    this.#arm()
    this.#ports?.denied(this.#leftMs())
  }

  /** The session has ended: nothing is told any more. */
  close(): void {
    this.#ports = null
    this.#stop()
  }

  #stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#deniedAt = null
  }

  #leftMs(): number {
    return Math.max(0, this.#renewedAt + this.#leaseMs - this.#now())
  }

  #arm(): void {
    // After a busy time the timer comes before what the heartbeat thread has said meanwhile: that is heard first.
    this.#timer = setTimeout(() => setImmediate(() => this.#look()), Math.ceil(this.#leftMs()))
  }

  #look(): void {
    if (this.#timer === null) return
    if (this.#leftMs() > 0) {
      this.#arm()
      return
    }
    const ports = this.#ports
    this.#stop()
    ports?.over()
  }
}

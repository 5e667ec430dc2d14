import { Backoff, pause } from '../backoff.js'
import { isRefusal, isSessionLost, type WorkerApi } from './api.js'
import type { Attempt } from './attempt.js'
import { checkpointText } from './checkpoint-text.js'
import { LeaseLostError } from './handler-errors.js'
import { LogBuffer } from './log-buffer.js'
import type { Session } from './session.js'
import type { LogLevel } from './task-context.js'
import type { WireInstructions } from './wire.js'

/** Progress and log lines gather this long before they travel, ms. */
const GATHER_MS = 200

/** Longest that outcomes wait for what their handlers wrote, ms. */
const FLUSH_WITHIN_MS = 1_000

export interface PusherPorts {
  readonly api: WorkerApi
  instructed(instructions: WireInstructions): void
  trouble(error: unknown): void
  lost(): void
}

interface PendingCheckpoint {
  readonly json: string
  readonly done: () => void
  readonly failed: (error: Error) => void
}

/**
 * Heartbeats that carry something: acknowledgements of suspects, progress, checkpoints, log lines. They are not held by the server
 * and come from the main thread; staying alive is the business of the heartbeat thread.
 */
export class HeartbeatPusher {
  readonly #session: Session
  readonly #ports: PusherPorts
  readonly #backoff = new Backoff({ baseMs: 100, capMs: 2_000, floorMs: 20 })
  readonly #progress = new Map<string, object>()
  readonly #checkpoints = new Map<string, PendingCheckpoint>()
  readonly #logs = new LogBuffer()
  /** Until the server refuses them. */
  #takesLogs = true
  /** Lines that the server is known to have; null: it is older, and takes lines without their count. */
  #taken: number | null = 0
  #pushing: Promise<void> | null = null
  #gathering: NodeJS.Timeout | null = null

  constructor(session: Session, ports: PusherPorts) {
    this.#session = session
    this.#ports = ports
    session.ended.addEventListener('abort', () => this.#giveUp(), { once: true })
  }

  /** Tells the highest grant number received until the server has it; false when the session ended before. */
  async confirm(): Promise<boolean> {
    const backoff = new Backoff({ baseMs: 100, capMs: 2_000, floorMs: 20 })
    while (!this.#session.ended.aborted) {
      if ((await this.#beat({})) === null) return true
      await pause(backoff.next(), this.#session.ended).catch(() => {})
    }
    return false
  }

  progress({ grant }: Attempt, percent: number, note: string | null): void {
    const bounded = Math.min(100, Math.max(0, percent))
    this.#progress.set(grant.lease, { lease: grant.lease, percent: bounded, ...(note === null ? {} : { note }) })
    this.#gather()
  }

  log({ grant }: Attempt, level: LogLevel, message: string): void {
    if (!this.#takesLogs) return
    this.#logs.add(grant, level, message)
    this.#gather()
  }

  /** @throws RangeError when it is too large or no JSON value; LeaseLostError */
  checkpoint({ grant }: Attempt, value: unknown): Promise<void> {
    const json = checkpointText(value)
    if (this.#session.ended.aborted) return Promise.reject(new LeaseLostError('the session has ended'))
    return new Promise((done, failed) => {
      const older = this.#checkpoints.get(grant.lease)
      this.#checkpoints.set(grant.lease, {
        json,
        done: () => {
          older?.done()
          done()
        },
        failed: (error) => {
          older?.failed(error)
          failed(error)
        },
      })
      void this.#push()
    })
  }

  /** Something that handlers wrote has not been sent yet. */
  get owes(): boolean {
    return this.#hasNews() || this.#pushing !== null
  }

  /**
   * Sends what handlers wrote before their outcomes leave: once an attempt is reported, its lease takes no more lines. Waits
   * for at most a second; an outcome matters more than its log.
   */
  async flush(): Promise<void> {
    await Promise.race([this.#push(), pause(FLUSH_WITHIN_MS, this.#session.ended).catch(() => {})])
  }

  #gather(): void {
    if (this.#gathering !== null || this.#session.ended.aborted) return
    this.#gathering = setTimeout(() => {
      this.#gathering = null
      void this.#push()
    }, GATHER_MS)
  }

  /** Resolves when all that was written is sent, or the session has ended. */
  #push(): Promise<void> {
    this.#pushing ??= this.#pushAll().finally(() => {
      this.#pushing = null
    })
    return this.#pushing
  }

  async #pushAll(): Promise<void> {
    while (!this.#session.ended.aborted && this.#hasNews()) {
      const isTaken = (await this.#pushState()) && (await this.#pushLogs())
      if (isTaken) this.#backoff.reset()
      else await pause(this.#backoff.next(), this.#session.ended).catch(() => {})
    }
  }

  #hasNews(): boolean {
    return this.#progress.size + this.#checkpoints.size + this.#logs.size > 0
  }

  /** Sends progress and checkpoints; false when they have to be sent again. */
  async #pushState(): Promise<boolean> {
    if (this.#progress.size + this.#checkpoints.size === 0) return true
    const checkpoints = [...this.#checkpoints]
    const progress = [...this.#progress]
    const error = await this.#beat({
      progress: progress.map(([, entry]) => entry),
      checkpoints: checkpoints.map(([lease, { json }]) => ({ lease, value: JSON.parse(json) as unknown })),
    })
    if (error !== null && !isRefusal(error)) return false
    for (const [lease, entry] of progress) if (this.#progress.get(lease) === entry) this.#progress.delete(lease)
    for (const [lease, entry] of checkpoints) {
      if (this.#checkpoints.get(lease) === entry) this.#checkpoints.delete(lease)
      if (error === null) entry.done()
      else entry.failed(error)
    }
    return true
  }

  /**
   * Sends log lines, in a beat of their own: a server that takes none must not refuse a checkpoint along with them. What is sent again,
   * since no answer came, stands first and has the same numbers: the server knows which of it it has.
   */
  async #pushLogs(): Promise<boolean> {
    if (this.#logs.size === 0) return true
    const logs = this.#logs.take()
    const news = this.#taken === null ? { logs } : { logs, logs_after: this.#taken }
    const error = await this.#beat(news, { isOptional: true })
    if (error === null) {
      if (this.#taken !== null) this.#taken += logs.length
      return true
    }
    const knowsNoCount = isRefusal(error) && error.errors.some(({ path }) => path === 'logs_after')
    if (isRefusal(error) && !knowsNoCount) this.#takesLogs = false
    else this.#logs.putBack(logs)
    if (knowsNoCount) this.#taken = null
    return isRefusal(error)
  }

  /** One heartbeat; the error, or null when the server took it. That it refuses an optional one is no trouble. */
  async #beat(news: object, { isOptional = false } = {}): Promise<Error | null> {
    const { received, ended: signal } = this.#session
    const body = JSON.stringify({ received, leases: [], ...news })
    try {
      const answer = await this.#ports.api.call(this.#session, 'heartbeat', body, { signal })
      this.#ports.instructed(answer as WireInstructions)
      return null
    } catch (error) {
      if (isSessionLost(error)) this.#ports.lost()
      else if (!signal.aborted && !(isOptional && isRefusal(error))) this.#ports.trouble(error)
      return error instanceof Error ? error : new Error(String(error))
    }
  }

  #giveUp(): void {
    if (this.#gathering !== null) clearTimeout(this.#gathering)
    for (const { failed } of this.#checkpoints.values()) failed(new LeaseLostError('the session has ended'))
    this.#checkpoints.clear()
    this.#progress.clear()
    this.#logs.clear()
  }
}

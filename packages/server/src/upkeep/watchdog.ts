import { gates, judgeLoss, type Uuid } from '@duly/domain'
import type { Logger } from 'pino'
import type { Attempts } from '../dispatch/attempts.js'
import { sessionActor } from '../dispatch/profile.js'
import { failed } from '../dispatch/reports.js'
import type { AttemptStore, Finish, Judged, Landed, Reopen } from '../store/attempt-store.js'
import type { DeadHolder, Marked, WatchStore } from '../store/watch-store.js'

export interface WatchdogOptions {
  readonly store: WatchStore
  readonly attemptStore: AttemptStore
  readonly attempts: Attempts
  readonly random: () => number
  readonly log: Logger
  readonly maxCrashes: number
  /** Tasks judged in one statement. */
  readonly batch: number
  readonly onLost: (tasks: number) => void
  readonly onTimedOut: (taskType: string) => void
}

const actor = 'watchdog'

/**
 * Takes back what dead sessions hold, and ends attempts past their deadline or the grace of their cancellation. It judges by
 * the store's clock alone, and each write tests fence and condition again: it never ends a newer attempt than it looked at.
 * Nobody is judged by it for time in which the store was away, even before the first mark.
 */
export class Watchdog {
  readonly #options: WatchdogOptions

  constructor(options: WatchdogOptions) {
    this.#options = options
  }

  /**
   * Marks the store, and says that the node lives. Answers what that told; `isAwaited` counts for nothing after an outage, when
   * it was judged before leases were renewed.
   */
  async mark(node: Uuid | null = null): Promise<Marked> {
    const marked = await this.#options.store.mark(node)
    const { wasOut, sinceMs, revived } = marked
    if (!wasOut) return marked
    // with no session to renew it is a restart, or a deployment at rest: nobody's news
    const level = revived > 0 ? 'warn' : 'debug'
    this.#options.log[level](
      { sinceMs: Math.round(sinceMs), sessions: revived },
      'the store was away; leases were renewed',
    )
    return { ...marked, isAwaited: false }
  }

  /** One pass; bounded, so what is left over is the next one's. Answers whether there may be more. */
  async act(): Promise<boolean> {
    const { store, log } = this.#options
    for (const session of await store.endDead())
      log.warn({ worker: sessionActor(session.id), name: session.name }, 'worker lost')
    let isFull = false
    for (const holder of await store.deadHolders()) isFull = (await this.#takeBack(holder)) || isFull
    return (await this.#endOverdue()) || isFull
  }

  /** A mark, and a pass. The mark comes first: time in which the store was away counts against nobody. */
  async runOnce(): Promise<boolean> {
    await this.mark()
    return this.act()
  }

  async #takeBack(holder: DeadHolder): Promise<boolean> {
    const { attemptStore, batch, onLost, log } = this.#options
    const rows = await attemptStore.judgeLost(holder.id, batch)
    const count = (await this.#apply(rows.map((row) => this.#lost(row, holder)))).length
    if (count > 0) {
      log.warn({ worker: sessionActor(holder.id), tasks: count }, 'tasks of a lost worker taken back')
      onLost(count)
    }
    return rows.length === batch
  }

  #lost(row: Judged, holder: DeadHolder): Finish | Reopen {
    const isAcknowledged = row.grant <= holder.received
    const { draining } = holder
    const { crashes, undelivered } = row
    const verdict = judgeLoss({
      crashes,
      maxCrashes: this.#options.maxCrashes,
      undelivered,
      acknowledged: isAcknowledged,
      draining,
    })
    // a grant that was forgiven once too often counts as a crash, and so is one in the records
    const isCrash = isAcknowledged || verdict.crashes > crashes
    const error = { class: 'WorkerLost', message: 'The worker stopped sending heartbeats.', stack: null }
    const base = {
      ...baseOf(row),
      condition: 'lost' as const,
      reason: isAcknowledged ? 'worker_lost' : 'undelivered',
      workerName: holder.name,
      error,
      attemptOutcome: isCrash ? ('lost' as const) : ('undelivered' as const),
    }
    if (verdict.kind === 'exhaust') {
      return {
        ...base,
        status: 'DEAD',
        result: null,
        crashes: verdict.crashes,
        transition: 'exhaust',
      }
    }
    return {
      ...base,
      status: 'PENDING',
      delayMs: null,
      transition: 'lose',
      crashes: verdict.crashes,
      undelivered: verdict.undelivered,
      gate: verdict.suspect ? gates.suspect : gates.none,
    }
  }

  async #endOverdue(): Promise<boolean> {
    const { attemptStore, batch, onTimedOut } = this.#options
    const rows = await attemptStore.judgeOverdue(batch)
    for (const task of await this.#apply(rows.map((row) => this.#overdue(row)))) onTimedOut(task.taskType)
    return rows.length === batch
  }

  #overdue(row: Judged): Finish | Reopen {
    const base = { ...baseOf(row), condition: 'overdue' as const, workerName: null }
    if (row.cancelRequested) {
      const error = {
        class: 'Stopped',
        message: 'The attempt did not stop within the grace after its cancellation.',
        stack: null,
      }
      return {
        ...base,
        status: 'CANCELLED',
        result: null,
        reason: null,
        error,
        transition: 'stop',
        attemptOutcome: 'cancelled',
      }
    }
    const message = `The attempt ran longer than its limit of ${row.timeoutMs / 1000} s and did not end by itself.`
    const error = { class: 'TimeoutError', message, stack: null }
    return failed({ ...base, reason: 'timed_out', error, attemptOutcome: 'timed_out' }, row, {
      retryable: true,
      retryAfterMs: null,
      transition: 'time_out',
      random: this.#options.random,
    })
  }

  async #apply(ends: readonly (Finish | Reopen)[]): Promise<Landed[]> {
    const finishes = ends.filter((end): end is Finish => 'result' in end)
    const reopens = ends.filter((end): end is Reopen => !('result' in end))
    const ended = finishes.length > 0 ? await this.#options.attempts.finish(finishes) : new Map<string, Landed>()
    const reopened = reopens.length > 0 ? await this.#options.attempts.reopen(reopens) : new Map<string, Landed>()
    return [...ended.values(), ...reopened.values()]
  }
}

function baseOf(row: Judged) {
  const { id, session, attempt, token, failures, crashes, undelivered, snoozes, releases, gate } = row
  return { fence: { id, session, attempt, token }, actor, failures, crashes, undelivered, snoozes, releases, gate }
}

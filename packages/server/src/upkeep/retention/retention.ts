import type { Clock } from '@duly/domain'
import type { Logger } from 'pino'
import type { Frame } from '../../store/retention/marks.js'
import { RetentionSession } from '../../store/retention/retention-session.js'
import { Interrupted, Pace } from './pace.js'
import { Records } from './records.js'
import { NoChance, Rewriter } from './rewriter.js'
import { Sweeps, type SweptKind } from './sweeps.js'

/** What a pass tells. None of these calls throws or waits. */
export interface RetentionListener {
  removed(kind: SweptKind | 'tasks', rows: number): void
  /** A try to replace partitions: others may have waited that long. */
  swap(landed: boolean, ms: number): void
  /** The end of a pass: its duration, its instant and the age of the oldest partition by the store's clock. */
  pass(pass: { isComplete: boolean; ms: number; atMs: number; oldestMs: number }): void
}

export interface RetentionOptions {
  readonly url: string
  readonly clock: Clock
  readonly log: Logger
  readonly listener: RetentionListener
  /** What this node was told to keep. */
  readonly days: number
  /** How much of the time a pass may be at work, above 0 to 1. */
  readonly share: number
  /** Rows in one step. */
  readonly batch: number
  /** So many rows of a day are removed one by one in any case. */
  readonly few: number
  /** How often each short lock is tried for in a row. Default: for some minutes. */
  readonly tries?: number
}

const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** Results are looked at at every pass, the rest from time to time, for the deployment as a whole. */
const passEveryMs = minuteMs

interface Chore {
  readonly name: string
  /** At most once within this time; 0: at every pass. */
  readonly everyMs: number
  readonly run: () => Promise<void>
}

/**
 * Removes what is past its time. One node of the deployment does it at a time, on a connection of its own, in steps with
 * pauses. A chore that fails is told, stops no other one, and is tried again at the next pass.
 */
export class Retention {
  readonly #options: RetentionOptions

  constructor(options: RetentionOptions) {
    this.#options = options
  }

  /** One pass, if no other node is at it. Answers in how many ms the next one is wanted. */
  async runOnce(signal: AbortSignal): Promise<number> {
    const session = await RetentionSession.open(this.#options.url, signal)
    if (session === null) return passEveryMs
    try {
      await this.#pass(session, signal)
    } catch (error) {
      // the node stops: the connection was cut on purpose
      if (!signal.aborted) throw error
    } finally {
      await session.close()
    }
    return passEveryMs
  }

  async #pass(session: RetentionSession, signal: AbortSignal): Promise<void> {
    const { clock, log, listener, days } = this.#options
    const beganMs = clock.monotonicMs()
    const frame = await session.marks.frame(days)
    let isComplete = true
    for (const chore of this.#chores(session, frame, signal)) {
      if (signal.aborted) return
      if (chore.everyMs > 0 && (await session.marks.isDone(chore.name, chore.everyMs))) continue
      try {
        await chore.run()
        if (chore.everyMs > 0) await session.marks.markDone(chore.name)
      } catch (error) {
        if (error instanceof Interrupted || signal.aborted) return
        isComplete = false
        if (error instanceof NoChance) log.warn({ chore: chore.name, why: error.message }, 'retention waits')
        else log.warn({ chore: chore.name, err: error }, 'retention failed; trying again')
      }
    }
    const { atMs, oldestMs } = await session.age()
    listener.pass({ isComplete, ms: clock.monotonicMs() - beganMs, atMs, oldestMs })
  }

  /** Keys and workflows before records: a key never outlives its record, nor a workflow those of its tasks. What hangs on records after them. */
  #chores(session: RetentionSession, frame: Frame, signal: AbortSignal): readonly Chore[] {
    const { clock, listener, log, share, batch, few, tries } = this.#options
    const pace = new Pace({ clock, share, signal })
    const removed = new Tally(listener)
    const sweeps = new Sweeps({ sweeps: session.sweeps, pace, batch, onSwept: (kind, rows) => removed.add(kind, rows) })
    const rewriter = new Rewriter({
      rewrites: session.rewrites,
      records: session.records,
      pace,
      clock,
      batch,
      tries,
      onSwap: (landed, ms) => listener.swap(landed, ms),
    })
    const records = new Records({
      ...{ session, rewriter, pace, batch, few },
      onRemoved: (tasks) => removed.add('tasks', tasks),
    })
    const days = async (): Promise<void> => {
      if (!(await records.isDue(frame))) return
      await sweeps.keys(frame)
      await sweeps.workflows(frame)
      await records.runOnce(frame)
      await sweeps.leftovers(frame)
      const rows = removed.take()
      if (Object.keys(rows).length > 0)
        log.info({ ...rows, retentionDays: frame.days }, 'removed what is past its time')
    }
    return [
      { name: 'results', everyMs: 0, run: () => sweeps.results() },
      { name: 'sessions', everyMs: hourMs, run: () => sweeps.sessions() },
      { name: 'runs', everyMs: hourMs, run: () => sweeps.runs(frame) },
      { name: 'api keys', everyMs: hourMs, run: () => sweeps.revoked(frame) },
      { name: 'firings', everyMs: hourMs, run: () => sweeps.firings(frame) },
      { name: 'bulk operations', everyMs: hourMs, run: () => sweeps.bulk(frame) },
      { name: 'records', everyMs: hourMs, run: days },
      { name: 'workflow keys', everyMs: hourMs, run: () => sweeps.workflowKeys(frame) },
      { name: 'counters', everyMs: 20 * hourMs, run: () => sweeps.counters() },
      { name: 'counts of dead letters', everyMs: hourMs, run: () => sweeps.letterCounts() },
    ]
  }
}

/** Rows by kind, told as they go and summed up for the log. */
class Tally {
  readonly #listener: RetentionListener
  #rows: Record<string, number> = {}

  constructor(listener: RetentionListener) {
    this.#listener = listener
  }

  add(kind: SweptKind | 'tasks', rows: number): void {
    if (rows === 0) return
    this.#rows[kind] = (this.#rows[kind] ?? 0) + rows
    this.#listener.removed(kind, rows)
  }

  take(): Record<string, number> {
    const rows = this.#rows
    this.#rows = {}
    return rows
  }
}

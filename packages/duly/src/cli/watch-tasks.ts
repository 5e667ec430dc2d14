import { setTimeout as delay } from 'node:timers/promises'
import type { TaskStatus } from '@duly/domain'
import { Pace } from './pace.js'
import type { Tally } from './tally.js'

/** Bounded, so that watching stays a small part of what the server does: a thousand open tasks are seen anew in 7 s. */
export const LOOKS_A_SECOND = 150
export const LOOKS_AT_ONCE = 8
/** From so few on, the server holds its answers until there is news. */
export const FEW = 50
/** With few open, all of them are looked at within this, s; so long may the end of the last one stay unseen. */
const FEW_ROUND_SECONDS = 1
/** When every open task is being looked at, or none is open yet: how soon to see whether that has changed. */
const IDLE_MS = 50

export interface Look {
  /** How long the server may hold its answer for the task's end, s; 0: not at all. */
  readonly waitSeconds: number
  readonly signal: AbortSignal
}

export interface WatchOptions {
  /** Reads where one task stands. */
  readonly statusOf: (id: string, look: Look) => Promise<TaskStatus>
  /** Called after each look. */
  readonly onChange: () => void
  /** True once no more tasks will be added to the tally. */
  readonly isComplete: () => boolean
  /** Ends the watch early. */
  readonly signal?: AbortSignal
}

/**
 * Follows the tasks of a tally until all have ended: looks at the open ones in turn, {@link LOOKS_A_SECOND} at most and
 * {@link LOOKS_AT_ONCE} under way. No task is looked at again before all other open ones were, or after its end. Tasks may
 * be added to the tally meanwhile.
 */
export async function watchTasks(tally: Tally, options: WatchOptions): Promise<void> {
  const failed = new AbortController()
  const signal = options.signal ? AbortSignal.any([options.signal, failed.signal]) : failed.signal
  const pace = new Pace(LOOKS_A_SECOND)
  const underWay = new Set<string>()
  const watcher = async () => {
    while (!signal.aborted && !(tally.open.size === 0 && options.isComplete())) {
      const id = takeTurn(tally, underWay)
      if (id === undefined) await delay(IDLE_MS, undefined, { signal })
      else await lookAt(id, { tally, options, pace, signal }).finally(() => underWay.delete(id))
    }
  }
  try {
    await Promise.all(Array.from({ length: LOOKS_AT_ONCE }, watcher))
  } catch (error) {
    if (options.signal?.aborted !== true) throw error
  } finally {
    failed.abort() // of the others, none goes on
  }
}

interface Watch {
  readonly tally: Tally
  readonly options: WatchOptions
  readonly pace: Pace
  readonly signal: AbortSignal
}

async function lookAt(id: string, { tally, options, pace, signal }: Watch): Promise<void> {
  await pace.next(signal)
  tally.note(id, await options.statusOf(id, { waitSeconds: waitSecondsFor(tally.open.size), signal }))
  options.onChange()
}

/** The open task that nobody has looked at for longest; none when all are being looked at. */
function takeTurn(tally: Tally, underWay: Set<string>): string | undefined {
  for (const id of tally.open) {
    if (underWay.has(id)) continue
    underWay.add(id)
    tally.toBack(id)
    return id
  }
  return undefined
}

/** So long that a round of all open tasks, several at once, takes {@link FEW_ROUND_SECONDS}; 0 while there are many. */
export function waitSecondsFor(open: number): number {
  return open > FEW ? 0 : Math.min(1, LOOKS_AT_ONCE / Math.max(1, open)) * FEW_ROUND_SECONDS
}

import { setTimeout as delay } from 'node:timers/promises'
import type { TaskStatus } from '@duly/domain'
import type { Tally } from './tally.js'

/** Bounded, so that watching stays a small part of what the server does; a thousand tasks are still seen anew each second. */
const LOOKS_A_SECOND = 1_000
const LOOKS_AT_ONCE = 16
const ROUND_MS = 250

export interface WatchOptions {
  /** Reads where one task stands. */
  readonly statusOf: (id: string) => Promise<TaskStatus>
  /** Called after each round. */
  readonly onChange: () => void
  /** True once no more tasks will be added to the tally. */
  readonly isComplete: () => boolean
  /** Ends the watch early. */
  readonly signal?: AbortSignal
}

/**
 * Follows the tasks of a tally until all have ended: each round looks at the open ones in turn, a bounded number, several
 * at once. Tasks may be added to the tally meanwhile.
 */
export async function watchTasks(tally: Tally, options: WatchOptions): Promise<void> {
  let next: string | undefined
  while (!options.signal?.aborted) {
    const open = tally.open
    if (open.length === 0 && options.isComplete()) return
    const batch = turn(open, next, (LOOKS_A_SECOND * ROUND_MS) / 1_000)
    next = open[(open.indexOf(batch.at(-1) ?? '') + 1) % Math.max(1, open.length)]
    await Promise.all([lookAt(batch, tally, options), delay(ROUND_MS)])
    options.onChange()
  }
}

/** At most `size` of the list, from `first` on and round its end. */
export function turn(list: readonly string[], first: string | undefined, size: number): readonly string[] {
  const start = Math.max(0, first === undefined ? 0 : list.indexOf(first))
  return [...list.slice(start), ...list.slice(0, start)].slice(0, size)
}

async function lookAt(batch: readonly string[], tally: Tally, { statusOf }: WatchOptions): Promise<void> {
  const waiting = [...batch]
  const look = async () => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) tally.note(id, await statusOf(id))
  }
  await Promise.all(Array.from({ length: LOOKS_AT_ONCE }, look))
}

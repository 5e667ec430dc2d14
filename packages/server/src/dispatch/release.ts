import type { TakenTask } from '../queue/port.js'
import type { AttemptStore, Fence, Judged } from '../store/attempt-store.js'
import type { Attempts } from './attempts.js'

export interface ReleaseParts {
  readonly attempts: Attempts
  readonly attemptStore: AttemptStore
}

/** Gives back what a worker held that leaves: its tasks are ready again at once, which costs no retry. */
export async function releaseHeld(
  { attempts, attemptStore }: ReleaseParts,
  fences: readonly Fence[],
  { actor, workerName }: { readonly actor: string; readonly workerName: string },
): Promise<void> {
  if (fences.length === 0) return
  const rows = await attemptStore.judgeReported(fences)
  const how = { condition: 'none', actor, workerName, reason: 'worker_left', attemptOutcome: 'released' } as const
  if (rows.length > 0) await attempts.reopen(rows.map((row) => ({ ...back(row), ...how, releases: row.releases + 1 })))
}

/**
 * Gives back grants that their worker did not fetch: that was no attempt. Answers those which another node has given out since:
 * the worker may have gone there and run them already, or may still come for them.
 */
export async function releaseUnfetched(
  { attempts, attemptStore }: ReleaseParts,
  tasks: readonly TakenTask[],
  workerName: string,
): Promise<readonly TakenTask[]> {
  if (tasks.length === 0) return []
  const untilMs = new Map(tasks.map((task) => [task.id, task.deadlineAtMs]))
  const rows = await attemptStore.judgeReported(tasks)
  if (rows.length === 0) return []
  const how = { condition: 'unrepeated', actor: 'dispatcher', workerName, reason: 'not_fetched' } as const
  const landed = await attempts.reopen(
    rows.map((row) => ({
      ...{ ...back(row), ...how, grantedUntilMs: untilMs.get(row.id) ?? 0 },
      ...{ attemptOutcome: 'undelivered', releases: row.releases },
    })),
  )
  const held = new Set(rows.map(({ id }) => id).filter((id) => !landed.has(id)))
  return tasks.filter(({ id }) => held.has(id))
}

const back = (row: Judged) =>
  ({ ...row, fence: row, status: 'PENDING', delayMs: null, transition: 'release', error: null }) as const

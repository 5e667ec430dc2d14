import type { AttemptStore, Fence } from '../store/attempt-store.js'
import type { Attempts } from './attempts.js'

/** Why leases are given back, as the trail shows it. */
export interface Release {
  readonly actor: string
  readonly workerName: string
  readonly reason: 'worker_left' | 'not_fetched'
}

/**
 * Gives leases back: their tasks are ready again at once. It costs no retry; what was never fetched was no attempt either, and
 * stays where it is when its worker fetched it from another node.
 */
export async function release(
  { attempts, attemptStore }: { attempts: Attempts; attemptStore: AttemptStore },
  fences: readonly Fence[],
  { actor, workerName, reason }: Release,
): Promise<void> {
  const rows = fences.length > 0 ? await attemptStore.judgeReported(fences) : []
  if (rows.length === 0) return
  const wasFetched = reason === 'worker_left'
  await attempts.reopen(
    rows.map((row) => ({
      ...row,
      ...{ fence: row, condition: wasFetched ? 'none' : 'unrepeated', status: 'PENDING', delayMs: null },
      ...{ transition: 'release', actor, reason, workerName, error: null },
      attemptOutcome: wasFetched ? 'released' : 'undelivered',
      releases: row.releases + (wasFetched ? 1 : 0),
    })),
  )
}

import { decodeLease, encodeLease, type Uuid } from '@duly/domain'
import type { HeartbeatRequest, LogLine } from '../model.js'
import type { LogWrite, ProgressStore, ProgressWrite } from '../store/progress-store.js'
import type { HeldLease } from '../store/session-store.js'

/**
 * Stores what handlers wrote since the last heartbeat: progress and checkpoints of leases that are still held, and log lines, also of
 * leases that were reported a moment ago; each once, however often its worker sends it. Answers the tasks whose logs have grown.
 */
export async function storeHandlerWrites(
  store: ProgressStore,
  session: Uuid,
  { request, held }: { request: HeartbeatRequest; held: readonly HeldLease[] },
): Promise<readonly Uuid[]> {
  const { progress, checkpoints, logs } = request
  if (progress.length === 0 && checkpoints.length === 0 && logs.length === 0) return []
  const leases = new Map(held.map((lease) => [encodeLease(lease), lease]))
  const writes = progressWrites(request, leases)
  if (writes.length > 0) await store.writeProgress(session, writes)
  const lines = logs.flatMap((line) => {
    const lease = leases.get(line.lease) ?? named(line)
    return lease ? [{ ...line, lease }] : []
  })
  return lines.length > 0 ? store.writeLogs(session, lines) : []
}

/** The attempt of a line whose lease is not held, where the worker names the task: the store knows whether it has just ended. */
function named({ id, lease }: LogLine): LogWrite['lease'] | null {
  const fence = id === null ? null : decodeLease(lease)
  return id === null || fence === null ? null : { id, ...fence }
}

/** One write a lease: the last word on each part counts. */
function progressWrites(
  { progress, checkpoints }: HeartbeatRequest,
  leases: ReadonlyMap<string, HeldLease>,
): ProgressWrite[] {
  const writes = new Map<string, ProgressWrite>()
  const write = (lease: string, part: Partial<ProgressWrite>): void => {
    const holder = leases.get(lease)
    if (!holder) return
    const before = writes.get(lease) ?? { lease: holder, percent: null, note: null, checkpoint: null }
    writes.set(lease, { ...before, ...part })
  }
  for (const { lease, percent, note } of progress) write(lease, { percent, note })
  for (const { lease, value } of checkpoints) write(lease, { checkpoint: value })
  return [...writes.values()]
}

import type { TaskHistory } from '../history.js'

/** A task that simply ran: its one attempt was given out at 9 and ended at 16. */
export function aTask(id: string, over: Partial<TaskHistory> = {}): TaskHistory {
  return {
    ...{ id, mark: `m${Number(id.slice(-12))}`, plan: 'succeed', maxRetries: 3, idempotencyKey: null, cronId: null },
    ...{ status: 'SUCCEEDED', isOpen: false, attempt: 1, run: 1, failures: 0, crashes: 0, token: 5n },
    ...{ startedAt: 9, completedAt: 16, reason: null, result: '{"attempt":1}', error: null },
    ...{ attempts: [], events: [], pastRuns: [], workflowId: null, createdAt: 0 },
    ...{ queue: 'chaos', priority: 2, edit: null, discardedAt: null },
    ...over,
  }
}

import { setTimeout as delay } from 'node:timers/promises'
import type { Duly, TaskRecord, WorkerRecord } from '@duly/sdk'

/** A wait this long without an end is worth a look at who could do the work, ms. */
export const PATIENCE_MS = 5_000

export interface UnservedWait {
  readonly duly: Duly
  readonly id: string
  /** Ends the look: the task is finished. */
  readonly signal: AbortSignal
  /** {@link PATIENCE_MS} unless given. */
  readonly afterMs?: number
  readonly tell: (note: string) => void
}

/**
 * Tells, once and after a while, if a task waits in a paused queue, or for workers of which none is there: its waiting command would look
 * like one that hangs. Says nothing where that can't be known, e.g. with a key that may not read workers. Never rejects.
 */
export async function tellIfUnserved({ duly, id, signal, tell, afterMs = PATIENCE_MS }: UnservedWait): Promise<void> {
  try {
    await delay(afterMs, undefined, { signal })
    const task = await duly.tasks.get(id, { signal })
    if (task.status !== 'PENDING') return
    const note = (await isPaused(duly, task)) ? pausedNote(task) : await unservedNote(duly, task)
    if (note !== null && !signal.aborted) tell(note)
  } catch {
    // The wait itself tells what is wrong with the server or the key.
  }
}

/** Of a queue that cannot be read it is not known; the workers may tell more. */
async function isPaused(duly: Duly, { queue }: TaskRecord): Promise<boolean> {
  return duly.queues.get(queue).then(
    ({ paused }) => paused,
    () => false,
  )
}

function pausedNote({ queue }: TaskRecord): string {
  return `note: the queue ${queue} is paused; it waits until somebody resumes it (\`duly queue resume ${queue}\`)\n`
}

async function unservedNote(duly: Duly, task: TaskRecord): Promise<string | null> {
  const workers = await duly.workers.list({ state: 'live' })
  if (workers.some((worker) => mayServe(worker, task))) return null
  const { taskType, queue } = task
  return `note: no live worker serves the type ${taskType} in the queue ${queue}; it waits for one (\`duly worker list\` shows who is there)\n`
}

/** Whether a worker gets such a task; of one whose list is cut it is taken to. */
function mayServe(worker: WorkerRecord, { queue, taskType, tenantId }: TaskRecord): boolean {
  const { queues, queueCount, taskTypes, taskTypeCount } = worker
  const hasQueue = queues.includes(queue) || queueCount > queues.length
  const hasType = taskTypes.includes(taskType) || taskTypeCount > taskTypes.length
  return hasQueue && hasType && (worker.tenantId === null || worker.tenantId === tenantId)
}

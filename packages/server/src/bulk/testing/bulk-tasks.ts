import type { TaskStatus, Uuid } from '@duly/domain'
import type { BulkRecord, NewTask } from '../../model.js'
import { mark, say, startLife, words } from '../../testing/lives.js'
import { newTask, type TestNode } from '../../testing/test-node.js'

/** How each of them came to its state. */
const lives = {
  FAILED: words.fail,
  SUCCEEDED: words.succeed,
  DEAD: words.retry,
  RETRYING: words.retry,
  RUNNING: null,
}

/** Tasks for operations to act on, and an empty store between tests. */
export function bulkTasks(node: TestNode) {
  const submit = async (over: Partial<NewTask> = {}): Promise<Uuid> => (await node.intake.submit(newTask(over))).id

  /** Puts tasks into a queue, wherever they stand. */
  const move = async (queue: string, ids: readonly Uuid[]): Promise<void> => {
    for (const table of ['tasks', 'open_tasks'])
      await node.query(`update ${table} set queue = $1 where id = any ($2)`, [queue, ids])
  }

  /** A task in each state, of the queue. */
  const oneInEach = async (queue: string): Promise<Record<TaskStatus, Uuid>> => {
    const made: Record<string, Uuid> = {}
    for (const [status, said] of Object.entries(lives)) {
      const life = await startLife(node, { maxRetries: status === 'DEAD' ? 0 : 3 })
      await move(queue, [life.id])
      if (said) await say(node, life, said)
      made[status] = life.id
    }
    made.SCHEDULED = await submit({ delayMs: 3_600_000 })
    made.PENDING = await submit()
    made.BLOCKED = await submit({ delayMs: 3_600_000 })
    await node.query(`update open_tasks set status = 'BLOCKED', blockers = 1 where id = $1`, [made.BLOCKED])
    made.CANCELLED = await submit()
    await mark(node, made.CANCELLED)
    await move(queue, Object.values(made))
    return made as Record<TaskStatus, Uuid>
  }

  return {
    ...{ submit, move, oneInEach },
    submitMany: async (count: number, over: Partial<NewTask> = {}): Promise<Uuid[]> =>
      (await node.intake.submitBatch(Array.from({ length: count }, () => newTask(over)))).map(({ id }) => id),
    clear: () =>
      node.query(`truncate tasks, open_tasks, outcomes, dead_letters, dead_letter_counts, failed_attempts, task_events, counters,
        runs, bulk_operations, idempotency_keys, workflows, workflow_nodes`),
  }
}

export const countsOf = ({ status, matched, done, skipped, failed }: BulkRecord) => ({
  ...{ status, matched, done, skipped, failed },
})

export const succeeded = (done: number, skipped = 0) => ({
  ...{ status: 'SUCCEEDED', matched: done + skipped, done, skipped, failed: 0 },
})

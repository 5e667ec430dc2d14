import type { Uuid } from '@duly/domain'
import type { BulkRecord, NewTask } from '../../model.js'
import { newTask, type TestNode } from '../../testing/test-node.js'

/** Tasks for operations to act on, and an empty store between tests. */
export function bulkTasks(node: TestNode) {
  return {
    submit: async (over: Partial<NewTask> = {}): Promise<Uuid> => (await node.intake.submit(newTask(over))).id,
    submitMany: async (count: number, over: Partial<NewTask> = {}): Promise<Uuid[]> =>
      (await node.intake.submitBatch(Array.from({ length: count }, () => newTask(over)))).map(({ id }) => id),
    /** Puts tasks into a queue, wherever they stand. */
    move: async (queue: string, ids: readonly Uuid[]): Promise<void> => {
      for (const table of ['tasks', 'open_tasks'])
        await node.query(`update ${table} set queue = $1 where id = any ($2)`, [queue, ids])
    },
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

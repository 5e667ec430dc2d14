import type { NodeReceipt } from '../client/workflow-records.js'
import type { Workflows } from '../client/workflows.js'
import type { Attempt } from './attempt.js'
import { isLost } from './fetch-results.js'
import { LeaseLostError } from './handler-errors.js'

/**
 * Adds tasks behind an attempt's own.
 *
 * @throws LeaseLostError; DulyApiError, DulyConnectionError; the reason of the attempt's signal
 */
export async function addTasks(
  workflows: Workflows,
  { grant, signal }: Attempt,
  tasks: readonly string[],
): Promise<ReadonlyMap<string, NodeReceipt>> {
  const { workflow_id: id = '', task_id: taskId, lease } = grant
  try {
    return await workflows.addTasks(id, { taskId, lease, tasks, signal })
  } catch (error) {
    if (isLost(error)) throw new LeaseLostError('the attempt no longer holds its lease')
    throw error
  }
}

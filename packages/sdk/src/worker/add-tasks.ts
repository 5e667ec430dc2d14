import type { AddedReceipt } from '../client/workflow-records.js'
import type { Workflows } from '../client/workflows.js'
import type { Attempt } from './attempt.js'
import { isLost } from './fetch-results.js'
import { LeaseLostError } from './handler-errors.js'

/**
 * Adds tasks from an attempt, under its lease and in its trace unless another one is given.
 *
 * @throws LeaseLostError; DulyApiError, DulyConnectionError; the reason of the attempt's signal
 */
export async function addTasks(
  workflows: Workflows,
  { grant, signal }: Attempt,
  tasks: readonly string[],
  traceparent: string | undefined = grant.traceparent ?? undefined,
): Promise<ReadonlyMap<string, AddedReceipt>> {
  const { workflow_id: id = '', task_id: taskId, lease } = grant
  const trace = traceparent === undefined ? {} : { traceparent }
  try {
    return await workflows.addTasks(id, { taskId, lease, tasks, signal, ...trace })
  } catch (error) {
    if (isLost(error)) throw new LeaseLostError('the attempt no longer holds its lease')
    throw error
  }
}

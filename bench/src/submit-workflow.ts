import { postJson } from './api-call.js'
import { queue, taskType } from './payload.js'

export interface GraphTask {
  readonly name: string
  readonly after: readonly string[]
}

/** Submits a graph of the benchmark's tasks. @returns ms until the answer */
export async function submitWorkflow(url: string, name: string, tasks: readonly GraphTask[]): Promise<number> {
  const task = { task_type: taskType, queue, payload: { sent: '0' } }
  const body = JSON.stringify({
    workflow_name: name,
    tasks: tasks.map(({ name, after }) => ({
      ...{ ...task, task_id: name },
      ...(after.length > 0 ? { dependencies: after } : {}),
    })),
  })
  const began = performance.now()
  await postJson(`${url}/api/v1/workflows`, body)
  return performance.now() - began
}

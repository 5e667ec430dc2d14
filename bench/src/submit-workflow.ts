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
  const response = await fetch(`${url}/api/v1/workflows`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  if (response.status !== 202) throw new Error(`not submitted: ${response.status} ${await response.text()}`)
  await response.arrayBuffer()
  return performance.now() - began
}

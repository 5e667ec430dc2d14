import type { Options } from './options.js'
import { percentilesOf } from './stats.js'
import { submitWorkflow } from './submit-workflow.js'
import { withWarmStack } from './with-stack.js'

/** From the end of each task to the start of the next one, and the whole of each task's step, ms of the store's clock. */
const steps = `
select extract(epoch from u.started_at - lag(u.completed_at) over chain)::float8 * 1000 as "waitMs",
  extract(epoch from u.completed_at - lag(u.completed_at) over chain)::float8 * 1000 as "stepMs"
from workflows w join workflow_nodes n on n.workflow_id = w.id join outcomes u on u.id = n.id
where w.name = 'chain' and w.status = 'SUCCEEDED' and u.status = 'SUCCEEDED'
window chain as (partition by w.id order by n.position)`

/** Workflows of `length` tasks, each behind the one before it, one workflow after the other: how soon the next task starts. */
export async function benchChain(options: Options, length: number): Promise<void> {
  await withWarmStack(options, async (stack, client) => {
    for (let run = 1; run <= options.runs; run++) {
      await submitWorkflow(stack.servers[0].url, 'chain', chainOf(length))
      await stack.worker.call('reached', { count: options.tasks.warmUp + run * length })
      await stack.database.untilAllFinished()
    }
    const { rows } = await client.query<{ waitMs: number | null; stepMs: number }>(steps)
    const later = rows.filter(({ waitMs }) => waitMs !== null)
    if (later.length !== options.runs * (length - 1)) throw new Error(`${later.length} steps in place of all`)
    const wait = percentilesOf(later.map(({ waitMs }) => waitMs ?? 0))
    const step = percentilesOf(later.map(({ stepMs }) => stepMs))
    console.log(
      [
        `${options.runs} workflows of ${length} tasks in a row`,
        `a task started p50 ${wait.p50.toFixed(1)}, p99 ${wait.p99.toFixed(1)} ms after the one before it had ended`,
        `a step took p50 ${step.p50.toFixed(1)}, p99 ${step.p99.toFixed(1)} ms, from end to end, the worker's part included`,
      ].join('\n'),
    )
  })
}

function chainOf(length: number) {
  return Array.from({ length }, (_, n) => ({ name: `task-${n}`, after: n === 0 ? [] : [`task-${n - 1}`] }))
}

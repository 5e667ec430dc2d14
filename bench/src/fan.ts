import { cpuOf, cpuOfTree, memoryOf } from './cpu.js'
import type { Options } from './options.js'
import { submitWorkflow } from './submit-workflow.js'
import { withWarmStack } from './with-stack.js'

/** When its first task started, its branches started and ended, and its last task started; the store's clock, s after it was made. */
const course = `
select extract(epoch from max(u.started_at) filter (where n.name = 'first') - w.created_at)::float8 as "firstAt",
  extract(epoch from max(u.started_at) filter (where n.name like 'branch-%') - w.created_at)::float8 as "fannedOutAt",
  extract(epoch from max(u.started_at) filter (where n.name = 'last') - max(u.completed_at) filter (where n.name like 'branch-%'))::float8
    as "joinSeconds",
  extract(epoch from w.completed_at - w.created_at)::float8 as "wholeSeconds", count(*)::integer as nodes
from workflows w join workflow_nodes n on n.workflow_id = w.id join outcomes u on u.id = n.id
where u.status = 'SUCCEEDED' and w.status = 'SUCCEEDED' group by w.id`

interface Course {
  readonly firstAt: number
  readonly fannedOutAt: number
  readonly joinSeconds: number
  readonly wholeSeconds: number
  readonly nodes: number
}

/** One workflow: a task, `width` tasks behind it, and one behind all of them. */
export async function benchFan(options: Options, width: number): Promise<void> {
  await withWarmStack(options, async (stack, client) => {
    const [server] = stack.servers
    const cpu = () => cpuOfTree(stack.postgresPid) + cpuOf(server.pid)
    const before = cpu()
    const answeredMs = await submit(server.url, width)
    await stack.worker.call('reached', { count: options.tasks.warmUp + width + 2 })
    await stack.database.untilAllFinished()
    const { rows } = await client.query<Course>(course)
    const [row] = rows
    if (rows.length !== 1 || row?.nodes !== width + 2) throw new Error(`not as asked for: ${JSON.stringify(rows)}`)
    const { nowMb, mostMb } = memoryOf(server.pid)
    console.log(
      [
        `a workflow of ${row.nodes} tasks, answered after ${answeredMs.toFixed(0)} ms`,
        `the first started ${(row.firstAt * 1000).toFixed(0)} ms after it was made, the last branch ${row.fannedOutAt.toFixed(2)} s`,
        `the join ${(row.joinSeconds * 1000).toFixed(1)} ms after the last branch had ended; the whole took ${row.wholeSeconds.toFixed(2)} s`,
        `CPU of PostgreSQL and server ${((cpu() - before) / row.nodes).toFixed(0)} µs a task; server ${nowMb.toFixed(0)} MB, at most ${mostMb.toFixed(0)} MB`,
      ].join('\n'),
    )
  })
}

/** @returns ms until the answer */
function submit(url: string, width: number): Promise<number> {
  const names = Array.from({ length: width }, (_, index) => `branch-${index}`)
  return submitWorkflow(url, 'fan', [
    { name: 'first', after: [] },
    ...names.map((name) => ({ name, after: ['first'] })),
    { name: 'last', after: names },
  ])
}

import pg from 'pg'
import { expect, test } from 'vitest'
import { Api, type RawWorker, until, type WireGrant } from '../../packages/server/src/dispatch/testing/http-node.js'
import { cleanUpLater } from '../support/clean-up.js'
import { createDatabase } from '../support/database.js'
import { startServer } from '../support/processes.js'

const workflows = 4
const tasks = 5_000

const workflow = {
  ...{ workflow_name: 'large', failure_policy: 'fail_fast' },
  tasks: Array.from({ length: tasks }, (_, n) => ({
    ...{ task_id: `task-${n}`, task_type: 'work', queue: n === 0 ? 'first' : 'unserved', payload: null },
    ...(n % 2 ? { dependencies: ['task-0'] } : {}),
  })),
}

async function take(worker: RawWorker): Promise<WireGrant[]> {
  const grants: WireGrant[] = []
  while (grants.length < workflows) grants.push(...(await worker.poll(workflows - grants.length, { wait: 1 })))
  return grants
}

test('workflows whose node is killed while it cancels what is open in them are finished by another one', {
  timeout: 180_000,
}, async () => {
  const databaseUrl = (await createDatabase()).url
  const client = new pg.Client({ connectionString: databaseUrl })
  cleanUpLater(() => client.end())
  await client.connect()
  const count = async (text: string): Promise<number> =>
    (await client.query<{ n: number }>(`select count(*)::integer as n from ${text}`)).rows[0]?.n ?? 0

  const first = await startServer({ databaseUrl, name: 'first' })
  const one = new Api(first.url)
  for (let n = 0; n < workflows; n++) {
    expect((await one.call('POST', '/workflows', workflow)).status).toBe(202)
  }
  // somebody holds a task of each: whatever becomes of the others, none of them comes to its end before the node is killed
  const holder = new pg.Client({ connectionString: databaseUrl })
  cleanUpLater(() => holder.end())
  await holder.connect()
  await holder.query('begin')
  await holder.query(`select from open_tasks o join (
    select workflow_id, max(id::text)::uuid as id from open_tasks where queue = 'unserved' group by 1) l on l.id = o.id for update of o`)
  const worker = await one.worker({ queues: ['first'] })
  const grants = await take(worker)
  const failure = { outcome: 'failed', error: { class: 'E', message: 'no', retryable: false } }
  const reported = worker.report(grants, failure).catch(() => [])
  await until(
    'it has begun',
    async () => (await count(`workflows where sweep_reason is not null`)) === workflows,
    60_000,
  )
  await first.process.kill('SIGKILL')
  await reported
  expect(await count('open_tasks')).toBeGreaterThan(0)
  await holder.query('rollback')

  const second = await startServer({ databaseUrl, name: 'second' })
  await until('it has ended', async () => (await count(`workflows where status = 'FAILED'`)) === workflows, 90_000)
  expect(await count('open_tasks')).toBe(0)
  expect(await count(`outcomes where status = 'CANCELLED' and reason = 'workflow_failed'`)).toBe(
    workflows * (tasks - 1),
  )
  expect(await count(`task_events where transition = 'cancel'`)).toBe(workflows * (tasks - 1))
  await until('all is passed on', async () => (await count('workflow_nodes where not settled')) === 0, 60_000)
  await second.process.kill('SIGTERM')
})

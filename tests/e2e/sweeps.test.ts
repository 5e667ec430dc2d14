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
  timeout: 600_000,
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
  const worker = await one.worker({ queues: ['first'] })
  const grants = await take(worker)
  const failure = { outcome: 'failed', error: { class: 'E', message: 'no', retryable: false } }
  const reported = worker.report(grants, failure).catch(() => [])
  await until(
    'it has begun',
    async () => (await count(`workflows where sweep_reason is not null`)) === workflows,
    120_000,
  )
  await first.process.kill('SIGKILL')
  await reported
  expect(await count('open_tasks')).toBeGreaterThan(0)

  const second = await startServer({ databaseUrl, name: 'second' })
  await until('it has ended', async () => (await count(`workflows where status = 'FAILED'`)) === workflows, 240_000)
  expect(await count('open_tasks')).toBe(0)
  expect(await count(`outcomes where status = 'CANCELLED' and reason = 'workflow_failed'`)).toBe(
    workflows * (tasks - 1),
  )
  expect(await count(`task_events where transition = 'cancel'`)).toBe(workflows * (tasks - 1))
  await until('all is passed on', async () => (await count('workflow_nodes where not settled')) === 0, 240_000)
  await second.process.kill('SIGTERM')
})

import pg from 'pg'
import { beforeAll, describe, expect, test } from 'vitest'
import { Api, until } from '../../packages/server/src/dispatch/testing/http-node.js'
import { cleanUpLater } from '../support/clean-up.js'
import { createDatabase } from '../support/database.js'
import { startServer, type TestServer } from '../support/processes.js'

const TASKS = 20_000

interface Operation {
  readonly bulk_id: string
  readonly status: string
  readonly done: number
  readonly matched: number
}

let databaseUrl: string
let client: pg.Client
beforeAll(async () => {
  databaseUrl = (await createDatabase()).url
  client = new pg.Client({ connectionString: databaseUrl })
  cleanUpLater(() => client.end())
  await client.connect()
})

/** How many of the queue's tasks were cancelled, and by how many events of the operation. */
async function cancelledOf(queue: string, { bulk_id }: Operation) {
  const { rows } = await client.query(
    `select count(*)::integer as tasks, sum(e.events)::integer as events, max(e.events)::integer as most
     from tasks t join outcomes u on u.id = t.id cross join lateral (
       select count(*) as events from task_events e where e.task_id = t.id and e.transition = 'cancel' and e.reason = $2) e
     where t.queue = $1 and u.status = 'CANCELLED'`,
    [queue, bulk_id],
  )
  return rows[0]
}

describe.each(['SIGKILL', 'SIGTERM'] as const)('an operation on %s of its node', (signal) => {
  test('is finished by another node, and each task was acted on once', { timeout: 180_000 }, async () => {
    const first: TestServer = await startServer({ databaseUrl, name: 'first' })
    const [one, queue] = [new Api(first.url), signal.toLowerCase()]
    for (let sent = 0; sent < TASKS; sent += 10_000) {
      await one.submitBatch(Array.from({ length: 10_000 }, () => ({ queue, delay_seconds: 3_600 })))
    }
    // somebody holds a task in the middle, so that it cannot come to its end before the signal
    await client.query('begin')
    await client.query('select from open_tasks where queue = $1 order by id offset $2 limit 1 for update', [
      queue,
      TASKS / 2,
    ])
    // alone, so that it is the one that works at it
    const { body: operation } = await one.call<Operation>('POST', '/tasks/bulk', {
      action: 'cancel',
      filter: { queue },
    })
    const progress = async (api: Api, wait = 0) =>
      (await api.call<Operation>('GET', `/bulk-operations/${operation.bulk_id}?wait_seconds=${wait}`)).body
    await until('it has begun', async () => (await progress(one)).done > 0, 120_000)
    const stopped = first.process.kill(signal)
    if (signal === 'SIGTERM') await client.query('rollback')
    await stopped
    if (signal === 'SIGKILL') await client.query('rollback')
    const { rows } = await client.query<{ done: number }>(
      'select done::integer from bulk_operations where status = $1',
      ['RUNNING'],
    )
    expect(rows[0]?.done).toBeGreaterThan(0)
    expect(rows[0]?.done).toBeLessThan(TASKS)

    const second = await startServer({ databaseUrl, name: 'second' })
    const two = new Api(second.url)
    // what comes now is not its matter
    const late = await two.submit({ queue, delay_seconds: 3_600 })
    await until('it has ended', async () => (await progress(two, 5)).status !== 'RUNNING', 90_000)
    expect(await progress(two)).toMatchObject({
      status: 'SUCCEEDED',
      matched: TASKS,
      done: TASKS,
      skipped: 0,
      failed: 0,
    })
    expect(await cancelledOf(queue, operation)).toEqual({ tasks: TASKS, events: TASKS, most: 1 })
    expect(await two.get(late.task_id)).toMatchObject({ status: 'SCHEDULED' })
    await second.process.kill('SIGTERM')
  })
})

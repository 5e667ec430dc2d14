import pg from 'pg'
import { expect, test } from 'vitest'
import {
  type Answer,
  type Api,
  openStore,
  startHttpNode,
  timed,
  until,
} from '../../packages/server/src/dispatch/testing/http-node.js'
import { maxWaitingBatches } from '../../packages/server/src/intake/intake.js'
import { startOwnPostgres } from '../support/own-postgres.js'

/** A statement that waits for a lock ends after this long; a call answers within some of them. */
const flags = { statementTimeoutSeconds: 1 }
const boundMs = 30_000

const submit = (api: Api, queue: string) =>
  api.call<{ task_id: string; code?: string }>('POST', '/tasks', { task_type: 'work', queue })

const codesOf = (answers: readonly Answer<{ code?: string }>[]) => [
  ...new Set(answers.map(({ status, body }) => (status < 300 ? 'ok' : `${status} ${body.code}`))),
]

/** Connections that hold or do something until they are let go. */
async function holder(url: string, text: string): Promise<{ release: () => Promise<void> }> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(text)
  return { release: () => client.end() }
}

const endBackends = `select count(pg_terminate_backend(pid)) from pg_stat_activity
  where application_name = 'duly' and datname = current_database()`

test('a lock that holds up the hot path: submissions are refused in time, and go on when it is gone', async () => {
  const { url, sql } = await openStore()
  const { api } = await startHttpNode(url, flags)
  await submit(api, 'locked')
  const lock = await holder(url, 'begin; lock table open_tasks in exclusive mode')
  const { value: refused, ms } = await timed(() => Promise.all(Array.from({ length: 40 }, () => submit(api, 'locked'))))
  expect(codesOf(refused)).toEqual(['503 store_unavailable'])
  expect(ms).toBeLessThan(boundMs)
  await lock.release()
  await until('a submission is taken', async () => (await submit(api, 'locked')).status === 202)
  const [row] = await sql<{ count: number }>(`select count(*)::int from tasks where queue = 'locked'`)
  expect(row?.count).toBe(2)
})

test('more batches than a node keeps waiting: the rest is refused with Retry-After, and what was taken is there', async () => {
  const { url, sql } = await openStore()
  const { api } = await startHttpNode(url, { statementTimeoutSeconds: 60 })
  await submit(api, 'full')
  const lock = await holder(url, 'begin; lock table open_tasks in exclusive mode')
  let refused = 0
  const sent = Array.from({ length: maxWaitingBatches + 50 }, async () => {
    const response = await fetch(`${api.url}/api/v1/tasks/batch`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"tasks":[{"task_type":"work","queue":"full"}]}',
    })
    if (response.status === 503) refused++
    const { code } = (await response.json()) as { code?: string }
    return { status: response.status, code, retryAfter: response.headers.get('retry-after') }
  })
  await until('what is too much was refused', async () => refused > 0, 120_000)
  await lock.release()
  const answers = await Promise.all(sent)
  const refusals = answers.filter(({ status }) => status !== 202)
  for (const refusal of refusals) {
    expect(refusal).toEqual({ status: 503, code: 'store_unavailable', retryAfter: expect.stringMatching(/^[1-9]\d*$/) })
  }
  const [row] = await sql<{ count: number }>(`select count(*)::int from tasks where queue = 'full'`)
  expect(row?.count).toBe(1 + answers.length - refusals.length)
})

test('statements that hold all general connections stop no heartbeat and no task, and others are refused in time', async () => {
  const { url } = await openStore()
  const { api } = await startHttpNode(url, { statementTimeoutSeconds: 60, generalConnections: 2 })
  const worker = await api.worker({ heartbeatSeconds: 2 })
  const { task_id } = await api.submit()
  await worker.poll(1)
  const lock = await holder(url, 'begin; lock table task_events in access exclusive mode')
  const stuck = Array.from({ length: 2 }, () => api.call('GET', `/tasks/${task_id}/events`))
  const waiting = timed(() => api.call<{ code: string }>('GET', `/tasks/${task_id}/events`))
  for (let n = 0; n < 5; n++) {
    expect((await worker.tryBeat()).status).toBe(200)
    const { task_id: next } = await api.submit()
    expect((await worker.poll(1)).map((grant) => grant.task_id)).toEqual([next])
    expect((await fetch(`${api.url}/readyz`)).status).toBe(200)
    // a third of the lease is over: the node has to ask the store about the session
    await new Promise((resolve) => setTimeout(resolve, 2_200))
  }
  const { value, ms } = await waiting
  expect(value).toMatchObject({ status: 503, body: { code: 'store_unavailable' } })
  expect(ms).toBeLessThan(boundMs)
  await lock.release()
  expect((await Promise.all(stuck)).map(({ status }) => status)).toEqual([200, 200])
})

test('backends that are ended again and again under load cost refusals, and no task', async () => {
  const { url, sql } = await openStore()
  const { api } = await startHttpNode(url, flags)
  await submit(api, 'cut')
  const answers: Promise<Answer<{ task_id: string; code?: string }>>[] = []
  for (let n = 0; n < 15; n++) {
    answers.push(...Array.from({ length: 10 }, () => submit(api, 'cut')))
    await sql(endBackends)
  }
  const all = await Promise.all(answers)
  expect(codesOf(all)).not.toContain('500 internal')
  const accepted = all.filter(({ status }) => status === 202).map(({ body }) => body.task_id)
  const unknown = all.filter(({ body }) => body.code === 'commit_unknown').length
  const [row] = await sql<{ count: number }>(`select count(*)::int from tasks where queue = 'cut'`)
  expect(row?.count).toBeGreaterThanOrEqual(accepted.length + 1)
  expect(row?.count).toBeLessThanOrEqual(accepted.length + 1 + unknown)
  await until('a submission is taken', async () => (await submit(api, 'cut')).status === 202)
})

test('a database that turns read-only: refused with 503 and not ready, until it takes writes again', async () => {
  const { url, sql } = await openStore()
  const { api } = await startHttpNode(url, flags)
  await submit(api, 'read-only')
  const name = new URL(url).pathname.slice(1)
  const ready = async () => {
    const response = await fetch(`${api.url}/readyz`)
    return { status: response.status, text: await response.text() }
  }
  await sql(`alter database ${name} set default_transaction_read_only = on`)
  await sql(endBackends)
  await until('it says what is wrong', async () => (await ready()).text.includes('takes no writes'))
  expect((await ready()).status).toBe(503)
  expect(codesOf([await submit(api, 'read-only')])).toEqual(['503 store_unavailable'])
  await sql(`begin read write; alter database ${name} reset default_transaction_read_only; commit`)
  await until('it is ready', async () => (await ready()).status === 200)
  await until('a submission is taken', async () => (await submit(api, 'read-only')).status === 202)
})

/** Takes all connections that are left. */
async function takeAll(url: string, hogs: pg.Client[]): Promise<void> {
  for (;;) {
    const hog = new pg.Client({ connectionString: url })
    hog.on('error', () => {})
    const isIn = await hog.connect().then(
      () => true,
      () => false,
    )
    if (!isIn) return
    hogs.push(hog)
  }
}

test('no connection left at the server: refused in time with 503, and it goes on when there is one', async () => {
  const postgres = await startOwnPostgres({ settings: { max_connections: 20 } })
  const { api } = await startHttpNode(postgres.url, flags)
  const { task_id } = await api.submit()
  const hogs: pg.Client[] = []
  await takeAll(postgres.url, hogs)
  // those that the node has already are held up, and it gets no more
  await hogs[0]?.query('begin; lock table task_events in access exclusive mode')
  const read = () => api.call<{ code?: string }>('GET', `/tasks/${task_id}/events`)
  const { value: answers, ms } = await timed(() => Promise.all(Array.from({ length: 30 }, read)))
  expect(codesOf(answers)).toEqual(['503 store_unavailable'])
  expect(ms).toBeLessThan(boundMs)
  await Promise.all(hogs.map((hog) => hog.end()))
  await until('all are answered', async () => codesOf(await Promise.all(Array.from({ length: 30 }, read)))[0] === 'ok')
})

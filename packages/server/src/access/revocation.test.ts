import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Api } from '../dispatch/testing/http-node.js'
import { enough, until } from '../dispatch/testing/http-node.js'
import { type Guarded, openGuarded, type TestKey, unknownSecret } from './testing/guarded-nodes.js'

let guarded: Guarded
let admin: Api
beforeAll(async () => {
  guarded = await openGuarded()
  admin = guarded.api((await guarded.key(['admin'])).secret)
})

const revoke = async ({ id }: TestKey): Promise<number> => (await admin.call('DELETE', `/api-keys/${id}`)).status
const statusOf = async (api: Api): Promise<number> => (await api.call('GET', '/queues')).status

const listeners = `from pg_stat_activity where datname = current_database() and application_name = 'duly listener'`

/** Ends every connection on which a node hears of revocations. */
async function endListeners(): Promise<number> {
  const rows = await guarded.sql<{ ended: boolean }>(`select pg_terminate_backend(pid) as ended ${listeners}`)
  return rows.filter(({ ended }) => ended).length
}

describe('when a revocation has answered', () => {
  test('no node takes the key any more', async () => {
    const key = await guarded.key(['read'])
    const apis = [guarded.api(key.secret, 0), guarded.api(key.secret, 1)]
    for (const api of apis) expect(await statusOf(api)).toBe(200)
    expect(await revoke(key)).toBe(200)
    for (const api of apis) expect(await statusOf(api)).toBe(401)
  })

  test('nor does a node whose connection for such words broke just before', async () => {
    const key = await guarded.key(['read'])
    const elsewhere = guarded.api(key.secret, 1)
    expect(await statusOf(elsewhere)).toBe(200)
    await until('both nodes listen', async () => (await guarded.sql(`select pid ${listeners}`)).length === 2)
    expect(await endListeners()).toBe(2)
    expect(await revoke(key)).toBe(200)
    expect(await statusOf(elsewhere)).toBe(401)
  })

  test('nothing that was asked from then on was served, however many ask at the time', async () => {
    const key = await guarded.key(['read'])
    const apis = [guarded.api(key.secret, 0), guarded.api(key.secret, 1)]
    let isRevoked = false
    let served = 0
    const late: number[] = []
    const ask = async (api: Api): Promise<void> => {
      for (let after = 0; after < 5; ) {
        const wasRevoked = isRevoked
        const status = await statusOf(api)
        if (wasRevoked) {
          late.push(status)
          after++
        } else if (status === 200) served++
      }
    }
    const asking = Array.from({ length: 8 }, (_, n) => ask(apis[n % 2] as Api))
    await until('calls that are served', () => served > 0)
    expect(await revoke(key)).toBe(200)
    isRevoked = true
    await Promise.all(asking)
    expect(new Set(late)).toEqual(new Set([401]))
  })

  test('revoking again changes nothing, and what is no key is not found', async () => {
    const key = await guarded.key(['read'])
    expect([await revoke(key), await revoke(key)]).toEqual([200, 200])
    expect((await admin.call('DELETE', '/api-keys/key-01m8m8kd7xe3bty5rn8g2h4j6q')).status).toBe(404)
    expect((await admin.call('DELETE', '/api-keys/task-01m8m8kd7xe3bty5rn8g2h4j6q')).status).toBe(400)
  })
})

/** Sends the head of a request and half of its body; the rest when it is told to. */
function beginCall(secret: string, { path, body, node }: { path: string; body: object; node: 0 | 1 }) {
  const text = JSON.stringify(body)
  const headers = {
    ...{ authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    'content-length': Buffer.byteLength(text),
  }
  const call = request(`${guarded.nodes[node].url}/api/v1${path}`, { method: 'POST', headers })
  const answered = once(call, 'response') as Promise<[IncomingMessage]>
  call.write(text.slice(0, 5))
  return {
    end: async (): Promise<number | undefined> => {
      call.end(text.slice(5))
      const [response] = await answered
      response.resume()
      return response.statusCode
    },
  }
}

test.each([0, 1] as const)('a body that arrives after its key was revoked does nothing (node %i)', async (node) => {
  const key = await guarded.key(['admin'])
  const begin = (path: string, body: object) => beginCall(key.secret, { path, body, node })
  const calls = [
    begin('/api-keys', { name: 'back door', scopes: ['admin'] }),
    begin('/tasks', { task_type: 'late', queue: 'late-bodies' }),
    begin('/tasks/batch', { tasks: [{ task_type: 'late', queue: 'late-bodies' }] }),
  ]
  // the heads have been looked at when a later call on the same node has its answer
  await enough(300)
  expect(await statusOf(guarded.api(key.secret, node))).toBe(200)
  expect(await revoke(key)).toBe(200)
  expect(await Promise.all(calls.map(({ end }) => end()))).toEqual([401, 401, 401])
  expect((await admin.call('GET', '/queues/late-bodies')).status).toBe(404)
  expect(await guarded.sql(`select id from api_keys where name = 'back door'`)).toEqual([])
})

test('calls that are held for a revoked key end with 401, on every node', async () => {
  const work = await guarded.key(['work'])
  const read = await guarded.key(['read'])
  const bystander = await guarded.key(['read'])
  const { task_id } = await admin.submit({ queue: 'held', delay_seconds: 3_600 })
  const worker = await guarded.api(work.secret, 1).worker({ queues: ['held'] })
  const beat = { received: 0, leases: [], wait_seconds: 60, progress: [], checkpoints: [], logs: [] }
  const held = [
    worker.tryPoll(1, { wait: 60 }),
    guarded.api(work.secret, 1).call('POST', `/workers/${worker.id}/heartbeat`, beat),
    guarded.api(read.secret, 0).call('GET', `/tasks/${task_id}?wait_seconds=60`),
    guarded.api(read.secret, 1).call('GET', `/tasks/${task_id}?wait_seconds=60`),
  ]
  let isDone = false
  const other = guarded.api(bystander.secret, 1).call('GET', `/tasks/${task_id}?wait_seconds=60`)
  void other.then(() => {
    isDone = true
  })
  await enough(300)
  await Promise.all([revoke(work), revoke(read)])
  expect((await Promise.all(held)).map(({ status }) => status)).toEqual([401, 401, 401, 401])
  expect(isDone).toBe(false)
  await admin.call('POST', `/tasks/${task_id}/cancel`)
  expect(await other).toMatchObject({ status: 200, body: { status: 'CANCELLED' } })
})

test('a task that comes while a held poll has lost its key is not given to it', async () => {
  const work = await guarded.key(['work'])
  const worker = await guarded.api(work.secret, 1).worker({ queues: ['lost-key'] })
  await worker.poll(1)
  const poll = worker.tryPoll(1, { wait: 30 })
  await enough(1_200)
  // nobody is told: the node learns of it when the poll is about to be answered
  await guarded.sql('update api_keys set revoked_at = now() where revoked_at is null and scopes = $1', [['work']])
  const { task_id } = await guarded.api((await guarded.key(['admin'])).secret, 1).submit({ queue: 'lost-key' })
  expect(await poll).toMatchObject({ status: 401, body: { code: 'unauthenticated' } })
  expect(await admin.get(task_id)).toMatchObject({ status: expect.stringMatching(/^(RUNNING|PENDING)$/) })
})

test('a flood of wrong secrets costs a bounded number of statements, and good keys are served meanwhile', async () => {
  const key = await guarded.key(['read'])
  const api = guarded.api(key.secret)
  const url = `${guarded.nodes[0].url}/api/v1/queues`
  const wrong = Array.from({ length: 1_000 }, () =>
    fetch(url, { headers: { authorization: `Bearer ${unknownSecret()}` } }).then(async (response) => {
      await response.arrayBuffer()
      return response.status
    }),
  )
  const good = Promise.all(Array.from({ length: 20 }, () => statusOf(api)))
  expect(new Set(await good)).toEqual(new Set([200]))
  expect(new Set(await Promise.all(wrong))).toEqual(new Set([401]))
})

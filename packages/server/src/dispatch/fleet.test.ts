import { encodeId, type Uuid } from '@duly/domain'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Sql } from '../queue/testing/store-bench.js'
import { openTestNode, type TestNode } from '../testing/test-node.js'
import { enough, type HttpNode, openStore, startHttpNode, timed, until } from './testing/http-node.js'
import { untilItTells } from './testing/known-states.js'

interface Row {
  readonly worker_id: string
  readonly name: string
  readonly state: string
  readonly running: number
  readonly ended_at: string | null
}
interface Listed {
  readonly items: readonly Row[]
  readonly next_cursor: string | null
}

let a: HttpNode
let b: HttpNode
let node: TestNode
let sql: Sql
beforeAll(async () => {
  const store = await openStore()
  sql = store.sql
  node = await openTestNode(store.url, { number: 9 })
  a = await startHttpNode(store.url)
  b = await startHttpNode(store.url)
  for (const each of [a, b]) await untilItTells(store.url, each)
  return () => node.close()
})

const read = async (id: string) => (await a.api.call<Row>('GET', `/workers/${id}`)).body
const drain = (id: string, at = a) => at.api.call<Row>('POST', `/workers/${id}/drain`)

describe('the list', () => {
  it('is of those that are there, the youngest first; of others on request; page by page', async () => {
    const workers = []
    for (let n = 0; n < 5; n++) workers.push(await b.api.worker({ queues: ['list'], slots: 7, heartbeatSeconds: null }))
    const [first, second, third] = workers as [(typeof workers)[0], (typeof workers)[0], (typeof workers)[0]]
    await a.api.submit({ queue: 'list' })
    expect(await first.poll(1, { wait: 30 })).toHaveLength(1)
    await second.leave()
    await drain(third.id)
    const ids = workers.map(({ id }) => id)
    const list = async (query: string) => {
      const { status, body } = await a.api.call<Listed>('GET', `/workers?${query}`)
      expect(status).toBe(200)
      return { ...body, items: body.items.filter(({ worker_id }) => ids.includes(worker_id)) }
    }
    const all = await list('')
    expect(all.items.map(({ worker_id }) => worker_id)).toEqual(ids.filter((id) => id !== second.id).reverse())
    expect(all.items.at(-1)).toMatchObject({
      ...{ name: 'raw', state: 'live', slots: 7, running: 1, queues: ['list'], queue_count: 1, task_types: ['work'] },
      ...{ heartbeat_seconds: 5, lease_seconds: 15, ended_at: null, tenant_id: null },
    })
    expect((await list('state=draining')).items.map(({ worker_id }) => worker_id)).toEqual([third.id])
    expect((await list('state=live')).items).toHaveLength(3)
    expect((await list('state=ended')).items).toMatchObject([{ worker_id: second.id, state: 'left' }])
    const paged: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: Listed = await list(`limit=2${cursor && `&cursor=${cursor}`}`)
      paged.push(...page.items.map(({ worker_id }) => worker_id))
      cursor = page.next_cursor
    }
    expect(paged).toEqual(all.items.map(({ worker_id }) => worker_id))
    const foreign = (await list('limit=1')).next_cursor
    expect((await a.api.call('GET', `/workers?state=ended&cursor=${foreign}`)).status).toBe(400)
    expect((await a.api.call('GET', '/workers?state=dead')).status).toBe(400)
    expect((await a.api.call('GET', `/workers/${encodeId('worker', node.minter.mint())}`)).status).toBe(404)
    for (const worker of workers) await worker.leave()
  })

  it('shows a tenant its own workers, and says who fell silent', async () => {
    const mine = await node.sessions.register(
      { name: 'm', host: null, version: null, queues: ['q'], taskTypes: ['t'], slots: 1, heartbeatMs: null },
      'me',
    )
    const { fleet } = node.stores
    const page = { after: null, limit: 10 }
    const idsOf = async (tenant: string, state: 'ended' | null = null) =>
      (await fleet.list({ tenant, state }, page)).map(({ id }) => id)
    expect(await idsOf('me')).toEqual([mine.id])
    expect(await idsOf('they')).toEqual([])
    expect(await fleet.get(mine.id, 'they')).toBeNull()
    await sql("update worker_sessions set live_until = now() - interval '1 hour' where id = $1", [mine.id])
    expect(await fleet.get(mine.id, 'me')).toMatchObject({ state: 'lost' })
    expect(await idsOf('me')).toEqual([])
    await until('the watchdog ended it', async () => (await idsOf('me', 'ended')).length === 1)
  })

  it('cuts long lists of names, and counts them', async () => {
    const queues = Array.from({ length: 300 }, (_, n) => `many-${n}`)
    const worker = await a.api.worker({ queues })
    type Named = { readonly queues: readonly string[]; readonly queue_count: number }
    const { body } = await a.api.call<{ items: readonly (Row & Named)[] }>('GET', '/workers')
    const listed = body.items.find(({ worker_id }) => worker_id === worker.id)
    expect([listed?.queues.length, listed?.queue_count]).toEqual([100, 300])
    expect((await a.api.call<Named>('GET', `/workers/${worker.id}`)).body.queues).toHaveLength(300)
    await worker.leave()
  })
})

describe('a drain', () => {
  it('reaches a worker at once whose heartbeat and poll are held by another node, and it gets nothing more', async () => {
    const worker = await b.api.worker({ queues: ['drained'] })
    await a.api.submit({ queue: 'drained' })
    const [grant] = await worker.poll(1, { wait: 30 })
    if (!grant) throw new Error('nothing was granted')
    const poll = worker.poll(5, { wait: 2 })
    const beat = worker.beat({ leases: [grant.lease], wait: 60 })
    await enough(300)
    const told = await timed(async () => {
      expect(await drain(worker.id)).toMatchObject({ status: 200, body: { state: 'draining', running: 1 } })
      return beat
    })
    console.info(`drained here, told over there: ${Math.round(told.ms)} ms`)
    expect(told.value).toEqual({ cancel: [], lost: [], drain: true })
    // well before the minute for which the beat may be held
    expect(told.ms).toBeLessThan(45_000)
    const { task_id } = await b.api.submit({ queue: 'drained' })
    expect(await poll).toEqual([])
    expect(await worker.poll(5)).toEqual([])
    expect((await a.api.get(task_id)).status).toBe('PENDING')
    expect(await worker.report([grant])).toMatchObject([{ accepted: true }])
    expect(await drain(worker.id, b)).toMatchObject({ status: 200, body: { state: 'draining', running: 0 } })
    expect(await worker.leave()).toBe(204)
    expect(await drain(worker.id)).toMatchObject({ status: 200, body: { state: 'left' } })
    expect(await read(worker.id)).toMatchObject({ state: 'left', ended_at: expect.any(String) })
  })

  it('leaves the work to its neighbours, without a wait', async () => {
    const [gone, stays] = [await b.api.worker({ queues: ['neighbour'] }), await b.api.worker({ queues: ['neighbour'] })]
    const held = [gone.poll(10, { wait: 3 }), stays.poll(10, { wait: 30 })] as const
    await enough(200)
    await drain(gone.id)
    const ids = new Set<string>()
    for (let n = 0; n < 6; n++) ids.add((await a.api.submit({ queue: 'neighbour' })).task_id)
    const taken: string[] = (await held[1]).map(({ task_id }) => task_id)
    while (taken.length < ids.size) taken.push(...(await stays.poll(10, { wait: 30 })).map(({ task_id }) => task_id))
    expect(new Set(taken)).toEqual(ids)
    expect(await held[0]).toEqual([])
    await Promise.all([gone.leave(), stays.leave()])
  })

  it('that a node did not hear of is learnt from the store by the next beat', async () => {
    const worker = await b.api.worker({ queues: ['unheard'] })
    const id = (
      await sql<{ id: Uuid }>("update worker_sessions set draining = true where queues = '{unheard}' returning id")
    )[0]?.id
    expect(encodeId('worker', id ?? '')).toBe(worker.id)
    expect((await worker.beat()).drain).toBe(true)
    await b.api.submit({ queue: 'unheard' })
    expect(await worker.poll(5, { wait: 0.3 })).toEqual([])
    await worker.leave()
  })
})

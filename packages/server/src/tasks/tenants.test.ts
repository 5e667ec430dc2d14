import { afterEach, describe, expect, test, vi } from 'vitest'
import { expectSound, wholeStateOf } from '../testing/facts.js'
import { mark, say, startLife, words } from '../testing/lives.js'
import { newTask, openTestStore } from '../testing/test-node.js'

const { node } = await openTestStore()
afterEach(() => expectSound(node))

const own = 'acme'
const other = 'rival'
const api = { kind: 'api', name: 'tester' } as const
const unknown = '01a22897-5adc-700f-9efd-267978275482'
const never = new AbortController().signal

/** Everything that can be asked of one task by its id. */
const calls = {
  get: (id: string, tenant: string) => node.tasks.get(id, tenant),
  wait: (id: string, tenant: string) => node.tasks.getFinished(id, tenant, { waitMs: 60_000, signal: never }),
  cancel: (id: string, tenant: string) => node.tasks.cancel(id, tenant, api),
  replay: (id: string, tenant: string) => node.tasks.replay(id, tenant, api),
  attempts: (id: string, tenant: string) => node.tasks.attempts(id, tenant),
  events: (id: string, tenant: string) => node.tasks.events(id, tenant),
}

/** A task of `acme` in each place where a task can be. */
const places = {
  'waits for its time': async () => (await node.intake.submit(newTask({ delayMs: 60_000 }))).id,
  'waits for a worker': async () => (await node.intake.submit(newTask({ queue: 'nobody' }))).id,
  runs: async () => (await startLife(node)).id,
  'runs and is marked': async () => {
    const { id } = await startLife(node)
    await mark(node, id)
    return id
  },
  succeeded: async () => ended('succeed'),
  failed: async () => ended('fail'),
}

async function ended(word: 'succeed' | 'fail'): Promise<string> {
  const life = await startLife(node)
  await say(node, life, words[word])
  return life.id
}

describe.each(Object.keys(places) as (keyof typeof places)[])('a task that %s', (place) => {
  test('does not exist for another tenant, and nothing happens to it', async () => {
    const id = await places[place]()
    const before = await wholeStateOf(node, id)
    for (const [name, call] of Object.entries(calls)) {
      await expect(call(id, other), name).rejects.toMatchObject({
        code: 'not_found',
        message: 'There is no such task.',
      })
    }
    expect(await wholeStateOf(node, id)).toEqual(before)
    expect(await node.tasks.get(id, own)).toMatchObject({ id, tenant: own })
    expect(await node.tasks.get(id, null)).toMatchObject({ id, tenant: own })
  })
})

test.each(Object.keys(calls) as (keyof typeof calls)[])(
  '%s looks for the task of another tenant by the same statements as for none',
  async (name) => {
    const ids = await Promise.all([places['waits for a worker'](), places.runs(), places.failed()])
    const sent = vi.spyOn(node.database, 'query')
    const statementsFor = async (id: string): Promise<string[]> => {
      sent.mockClear()
      await expect(calls[name](id, other)).rejects.toMatchObject({ code: 'not_found' })
      return sent.mock.calls.map(([statement]) => statement.name)
    }
    try {
      const forNone = await statementsFor(unknown)
      expect(forNone.length).toBeGreaterThan(0)
      for (const id of ids) expect(await statementsFor(id)).toEqual(forNone)
    } finally {
      sent.mockRestore()
    }
  },
)

test.each(['cancel', 'replay'] as const)('%s does not wait for the lock of what it may not see', async (name) => {
  const ids = [await places['waits for a worker'](), await places.runs(), await places.failed()]
  const holder = await node.admin.connect()
  try {
    await holder.query('begin')
    await holder.query('select 1 from open_tasks where id = any ($1) for update', [ids])
    await holder.query('select 1 from outcomes where id = any ($1) for update', [ids])
    for (const id of ids) await expect(calls[name](id, other)).rejects.toMatchObject({ code: 'not_found' })
  } finally {
    await holder.query('rollback')
    holder.release()
  }
})

test('the owner is served as an unbound caller is', async () => {
  const life = await startLife(node)
  const marked = { id: life.id, status: 'RUNNING', cancelRequested: true, cancelledAtMs: null }
  expect(await node.tasks.cancel(life.id, own, api)).toEqual(marked)
  await say(node, life, words.stop)
  expect(await node.tasks.getFinished(life.id, own, { waitMs: 60_000, signal: never })).toMatchObject({
    status: 'CANCELLED',
  })
  expect(await node.tasks.replay(life.id, own, api)).toMatchObject({ status: 'PENDING' })
  expect(await node.tasks.attempts(life.id, own)).toHaveLength(1)
  expect((await node.tasks.events(life.id, own)).map(({ transition }) => transition)).toContain('replay')
  expect(await node.tasks.cancel(life.id, own, api)).toMatchObject({ status: 'CANCELLED' })
})

describe('the list of queues', () => {
  test('shows a tenant its own figures, of the queues that it uses', async () => {
    const add = (queue: string, tenant: string, count: number) =>
      Promise.all(Array.from({ length: count }, () => node.intake.submit(newTask({ queue, tenant }))))
    await add('shared', own, 2)
    await add('shared', other, 3)
    await add('theirs', other, 1)
    const worker = await node.worker({ queues: ['shared'] })
    await node.claim(worker, 1, { queue: 'shared', tenant: own })
    await node.query(`update queues set paused = true where name = 'shared'`)
    const listed = async (tenant: string | null) =>
      new Map((await node.stores.queues.list(tenant, { after: null, limit: 100 })).map((queue) => [queue.name, queue]))
    const ours = await listed(own)
    expect(ours.get('shared')).toMatchObject({
      ...{ paused: true, depth: 1, running: 1, depthByPriority: { high: 0, medium: 1, low: 0 } },
      depthByTenant: [{ tenantId: own, depth: 1 }],
    })
    expect(ours.has('theirs')).toBe(false)
    const theirs = await listed(other)
    expect(theirs.get('shared')).toMatchObject({ depth: 3, running: 0, oldestReadyAtMs: expect.any(Number) })
    expect([...theirs.keys()].sort()).toEqual(['shared', 'theirs'])
    expect((await listed(null)).get('shared')).toMatchObject({ depth: 4, running: 1 })
    expect(await listed('nobody')).toEqual(new Map())
    await node.query(`update queues set paused = false where name = 'shared'`)
  })
})

import { setTimeout } from 'node:timers/promises'
import type { Uuid } from '@duly/domain'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { randomOf } from '../../../../../tests/chaos/load/random.js'
import { expectSound } from '../../testing/facts.js'
import { newTask } from '../../testing/test-node.js'
import { VirtualLife } from '../../testing/virtual-life.js'
import { openVirtualStore, type VirtualStore } from '../../testing/virtual-store.js'
import { addOldTasks, looseEnds, type OldTask } from './testing/old-tasks.js'

// seconds, but for a machine that is busy with much else
vi.setConfig({ testTimeout: 180_000 })

let store: VirtualStore
beforeAll(async () => {
  store = await openVirtualStore()
})
beforeEach(async () => {
  await store.node.query('delete from retention_marks')
})
afterAll(() => store.close())

const random = randomOf('swap')

/** Changes of old tasks of every kind, as fast as they go, until stopped. Knows what must be there afterwards. */
class Disturber {
  /** What was done last to a task, and only if it landed. */
  readonly done = new Map<Uuid, string>()
  readonly #work: Promise<void>[]
  #isOver = false
  /** The longest that a statement took, ms. */
  longestMs = 0
  actions = 0

  constructor(tasks: readonly OldTask[]) {
    const lanes = 3
    this.#work = Array.from({ length: lanes }, async (_, lane) => {
      const mine = tasks.filter((_task, place) => place % lanes === lane)
      while (!this.#isOver && mine.length > 0) {
        const [task] = mine.splice(random.integer(0, mine.length - 1), 1)
        if (task) await this.#change(task)
      }
    })
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#work)
  }

  async #change({ id, state }: OldTask): Promise<void> {
    const { node } = store
    const actor = { kind: 'api', name: 'tester' } as const
    if (state === 'cancelled') {
      // it may have been removed a moment ago: then it is gone for good, and says so
      const landed = await this.#timed(() => node.tasks.replay(id, null, actor)).catch((error) => error.code)
      this.done.set(id, landed === 'not_found' ? 'gone' : 'replayed')
    } else if (state === 'dead') {
      await this.#timed(() => node.stores.deadLetters.discard([id], null, { actor: 'api:tester', reason: null }))
      this.done.set(id, 'discarded')
    } else if (state === 'open' && random.next() < 0.5) {
      await this.#timed(() => node.tasks.cancel(id, null, actor))
      this.done.set(id, 'cancelled')
    } else if (state === 'open') {
      await this.#timed(() => node.query(`update tasks set payload = '"edited"' where id = $1`, [id]))
      this.done.set(id, 'edited')
    } else {
      await this.#timed(() => node.tasks.get(id, null)).catch(() => {})
    }
  }

  async #timed<T>(work: () => Promise<T>): Promise<T> {
    const beganMs = performance.now()
    this.actions++
    try {
      return await work()
    } finally {
      this.longestMs = Math.max(this.longestMs, performance.now() - beganMs)
    }
  }
}

/** What must be true of each old task, whatever was done to it meanwhile. */
async function expectKept(tasks: readonly OldTask[], done: ReadonlyMap<Uuid, string>): Promise<void> {
  const rows = await store.node.query<{ id: Uuid; status: string; payload: string }>(
    `select t.id, coalesce(u.status, o.status) as status, t.payload from tasks t
     left join outcomes u on u.id = t.id left join open_tasks o on o.id = t.id where t.id = any ($1)`,
    [tasks.map(({ id }) => id)],
  )
  const found = new Map(rows.map((row) => [row.id, row]))
  const wrong: string[] = []
  for (const { id, state } of tasks) {
    const what = done.get(id) ?? state
    const is = found.get(id)
    const text = is ? `${is.status} ${is.payload}` : 'gone'
    const right =
      what === 'replayed'
        ? /^PENDING|^RUNNING|^SUCCEEDED/.test(text)
        : what === 'edited'
          ? text === 'SCHEDULED "edited"'
          : what === 'cancelled' && state === 'open'
            ? text === 'CANCELLED {}'
            : what === 'open'
              ? text === 'SCHEDULED {}'
              : what === 'dead'
                ? text === 'DEAD {}'
                : what === 'discarded'
                  ? /^DEAD|gone/.test(text)
                  : text === 'gone'
    if (!right) wrong.push(`${id}: ${state}, ${what}, is ${text}`)
  }
  expect(wrong).toEqual([])
}

/** A statement that looks at old tasks by a plan that was made before, on a connection of its own, over and over. */
async function watchPrepared(ids: readonly Uuid[], until: Promise<unknown>) {
  const client = new pg.Client({ connectionString: store.url, options: '-c plan_cache_mode=force_generic_plan' })
  await client.connect()
  let isOver = false
  void until.finally(() => {
    isOver = true
  })
  const text = `select count(*)::integer as found from unnest($1::uuid[]) as i (id)
    cross join lateral (select 1 from tasks t where t.id = i.id limit 1) t`
  let [looks, longestMs] = [0, 0]
  while (!isOver) {
    const beganMs = performance.now()
    const { rows } = await client.query({ name: 'look', text, values: [ids] })
    longestMs = Math.max(longestMs, performance.now() - beganMs)
    expect(rows[0].found).toBe(ids.length)
    looks++
  }
  await client.end()
  return { looks, longestMs }
}

test('days are rewritten while their tasks are replayed, cancelled, edited and discarded, and others are run', async () => {
  const tasks: OldTask[] = []
  for (let day = 0; day < 4; day++) {
    tasks.push(...(await addOldTasks(store.node, { succeeded: 500, cancelled: 150, open: 60, dead: 40 })))
    await store.advance(1)
  }
  await store.advance(30)
  const life = new VirtualLife(store, random)
  const disturber = new Disturber(tasks)
  const pass = store.retain({ batch: 40 })
  let isOver = false
  void pass.finally(() => {
    isOver = true
  })
  const work = (async () => {
    while (!isOver) {
      await Promise.all([life.submit(newTask({ taskType: 'succeed' })), life.submit(newTask({ taskType: 'succeed' }))])
      await life.work()
    }
  })()
  const untouched = tasks.filter(({ state }) => state === 'open').map(({ id }) => id)
  const looked = watchPrepared(untouched, pass)
  const { swapsMs, removed } = await pass
  await disturber.stop()
  await work
  console.info(
    JSON.stringify({ swapsMs, removed, actions: disturber.actions, stallMs: disturber.longestMs, ...(await looked) }),
  )
  expect(swapsMs.length).toBeGreaterThanOrEqual(4)
  expect([...disturber.done.values()]).toEqual(expect.arrayContaining(['replayed', 'cancelled', 'edited', 'discarded']))
  await expectKept(tasks, disturber.done)
  await expectSound(store.node)
  expect(await looseEnds(store.node)).toEqual([])
  // the server itself ends a swap after 150 ms; a machine that is short of time needs its own for the rest
  expect(Math.max(disturber.longestMs, (await looked).longestMs)).toBeLessThan(20_000)
})

test('a pass that is cut at any moment leaves the store right, and the next one finishes', async () => {
  const tasks: OldTask[] = []
  for (let day = 0; day < 3; day++) {
    tasks.push(...(await addOldTasks(store.node, { succeeded: 300, cancelled: 60, open: 20, dead: 20 })))
    await store.advance(1)
  }
  await store.advance(30)
  const disturber = new Disturber(tasks)
  let cuts = 0
  for (let n = 0; n < 12; n++) {
    const cut = new AbortController()
    const pass = store.retain({ batch: 20 }, cut.signal).catch(() => {})
    await setTimeout(random.integer(50, 400))
    // by turns the node vanishes, and the server ends the connection
    if (n % 2 === 0) cut.abort()
    else {
      await store.node.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'duly retention' and datname = current_database()`,
      )
    }
    cuts++
    await pass
    await expectSound(store.node, /open or finished/)
  }
  await disturber.stop()
  // the server may still be at the last step of a node that vanished
  await until(async () => (await store.retain()).isDone)
  await expectKept(tasks, disturber.done)
  await expectSound(store.node)
  expect(await looseEnds(store.node)).toEqual([])
  expect(cuts).toBe(12)
})

test('of nodes that pass at once one does the work', async () => {
  const tasks = await addOldTasks(store.node, { succeeded: 500, open: 10 })
  await store.advance(31)
  const passes = await Promise.all([
    store.retain({ batch: 50 }),
    store.retain({ batch: 50 }),
    store.retain({ batch: 50 }),
  ])
  expect(passes.filter(({ isDone }) => isDone)).toHaveLength(1)
  await expectKept(tasks, new Map())
  expect(await looseEnds(store.node)).toEqual([])
})

test('where a long reader never lets go, nothing waits long for the swap, nothing changes, and the next pass makes it', async () => {
  const tasks = await addOldTasks(store.node, { succeeded: 500, open: 10 })
  await store.advance(31)
  const reader = await store.node.admin.connect()
  await reader.query('begin')
  await reader.query('select count(*) from tasks')
  let longestMs = 0
  let isOver = false
  const bystander = (async () => {
    while (!isOver) {
      const beganMs = performance.now()
      await store.node.tasks.get(tasks[0]?.id as Uuid, null)
      longestMs = Math.max(longestMs, performance.now() - beganMs)
    }
  })()
  await expect(store.retain({ tries: 4 })).rejects.toThrow('found no moment')
  isOver = true
  await bystander
  expect(longestMs).toBeLessThan(20_000)
  expect((await store.node.query('select 1 from tasks where id = $1', [tasks[0]?.id])).length).toBe(1)
  await reader.query('commit')
  reader.release()
  await store.retain()
  await expectKept(tasks, new Map())
  expect(await looseEnds(store.node)).toEqual([])
})

test('a month of days becomes one partition, some days at a time', async () => {
  // the next first day of a month
  const [first] = await store.node.query<{ days: number }>(
    `select (date_trunc('month', now() at time zone 'UTC') + interval '1 month')::date - (now() at time zone 'UTC')::date as days`,
  )
  await store.advance(first?.days ?? 0)
  const tasks: OldTask[] = []
  const before = await store.partitions()
  for (let day = 0; day < 31; day++) {
    tasks.push(...(await addOldTasks(store.node, { succeeded: 2, open: 2, cancelled: 1 })))
    await store.advance(1)
  }
  const month = (await store.partitions()).filter((suffix) => !before.includes(suffix))[5]?.slice(0, 6)
  await store.advance(31)
  await store.retain()
  const days = (await store.partitions()).filter((suffix) => suffix.startsWith(month ?? '-'))
  expect(days.length).toBeGreaterThanOrEqual(28)
  await store.advance(31)
  const disturber = new Disturber(tasks.filter(({ state }) => state === 'open'))
  const { swapsMs } = await store.retain()
  await disturber.stop()
  console.info(JSON.stringify({ days: days.length, swapsMs, stallMs: disturber.longestMs }))
  expect((await store.partitions()).filter((suffix) => suffix.startsWith(month ?? '-'))).toEqual([month])
  await expectKept(tasks, disturber.done)
  await expectSound(store.node)
  expect(await looseEnds(store.node)).toEqual([])
  // a day of a month is there: nobody makes it a second time
  await store.node.query(`select duly_make_day(to_date($1, 'YYYYMMDD'))`, [`${month}10`])
  expect(await store.partitions()).not.toContain(`${month}10`)
})

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let n = 0; n < 1_000; n++) {
    if (await isSo()) return
    await setTimeout(100)
  }
  throw new Error('it never became so')
}

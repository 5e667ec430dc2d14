import { ManualClock, systemClock } from '@duly/domain'
import { describe, expect, it } from 'vitest'
import { namesPerMinute } from './cells.js'
import { Depths } from './depths.js'
import { Recorder } from './recorder.js'
import { Stats } from './stats.js'
import { hourMs, place, StatsBench } from './testing/stats-bench.js'

const at = new StatsBench()

describe('a recorder', () => {
  it('writes each figure once, however often it writes, and though an answer was lost', async () => {
    const store = at.newStore()
    const write = store.writeMinute.bind(store)
    let losses = 2
    store.writeMinute = async (rows) => {
      await write(rows)
      if (losses-- > 0) throw new Error('the answer was lost')
    }
    const { recorder, stats } = at.newNode(store)
    for (let n = 0; n < 10; n++) recorder.now().count(place(n), 'submitted')
    await expect(recorder.flush()).rejects.toThrow('lost')
    recorder.now().count(place(0), 'submitted')
    await expect(recorder.flush()).rejects.toThrow('lost')
    await recorder.flush()
    await recorder.flush()
    expect((await stats.read(null, { windowMs: 60_000, by: null })).totals.submitted).toBe(11)
  })

  it('goes on with a minute over which the clock stepped back, and begins none anew', async () => {
    const { recorder, stats } = at.newNode()
    recorder.now().count(place(1), 'started')
    at.nowMs += 60_000
    recorder.now().count(place(1), 'started')
    await recorder.flush()
    at.nowMs -= 60_000
    recorder.now().count(place(1), 'started')
    await recorder.flush()
    at.nowMs += 60_000
    expect((await stats.read(null, { windowMs: 600_000, by: null })).totals.started).toBe(3)
  })

  it('keeps a bounded number of names apart, and the rest in one', async () => {
    const { recorder, stats } = at.newNode()
    for (let n = 0; n < namesPerMinute + 50; n++) {
      recorder.now().count({ queue: `q${n}`, taskType: 't', tenant: 'x' }, 'submitted')
      recorder.now().count({ queue: 'q0', taskType: 't', tenant: 'x' }, 'submitted')
    }
    const { totals, items } = await stats.read(null, { windowMs: 60_000, by: 'queue' })
    expect(totals.submitted).toBe(2 * namesPerMinute + 100)
    expect(items).toHaveLength(100)
    expect(items.slice(0, 2)).toMatchObject([
      { name: 'q0', submitted: namesPerMinute + 51 },
      { name: '(other)', submitted: 50 },
    ])
    const [rows] = await at.bench.sql<{ n: number }>('select count(*)::integer as n from stats_rollups')
    expect(rows?.n).toBe(1 + namesPerMinute + 1 + 1 + 1)
  })

  it('gives up what a store that is away for long does not take, and not more', async () => {
    const store = at.newStore()
    const write = store.writeMinute.bind(store)
    store.writeMinute = () => Promise.reject(new Error('away'))
    const { recorder, stats } = at.newNode(store)
    for (let minute = 0; minute < 25; minute++, at.nowMs += 60_000) {
      recorder.now().count(place(0), 'submitted')
      await recorder.flush().catch(() => {})
    }
    store.writeMinute = write
    at.nowMs -= 60_000
    expect((await stats.read(null, { windowMs: hourMs, by: null })).totals.submitted).toBe(10)
  })

  it('costs some hundred nanoseconds a task', () => {
    const { recorder } = at.newNode()
    const rounds = 200_000
    const places = Array.from({ length: 40 }, (_, n) => place(n))
    const before = process.cpuUsage()
    for (let n = 0; n < rounds; n++) {
      // as batches come: some tasks of one place, then some of another
      const where = places[(n >> 4) % places.length] as (typeof places)[0]
      const minute = recorder.now()
      minute.count(where, 'submitted')
      minute.count(where, 'started')
      minute.measure(where, 'wait', n % 1_000)
      minute.count(where, 'succeeded')
      minute.measure(where, 'run', n % 5_000)
    }
    const ns = (process.cpuUsage(before).user / rounds) * 1_000
    console.info(`a task's life costs ${Math.round(ns)} ns of processor time for counting`)
    expect(ns).toBeLessThan(50_000)
  })
})

describe('figures', () => {
  it('are sums over nodes and minutes, with rates, percentiles and an error rate', async () => {
    const [one, two] = [at.newNode(), at.newNode()]
    for (const { recorder } of [one, two]) {
      for (let n = 0; n < 90; n++) {
        const minute = recorder.now()
        minute.count(place(n % 2), 'submitted')
        minute.count(place(n % 2), 'started')
        minute.measure(place(n % 2), 'wait', n < 45 ? 10 : 1_000)
        minute.count(place(n % 2), n % 10 === 0 ? 'failed' : 'succeeded')
        minute.measure(place(n % 2), 'run', 100)
      }
    }
    await two.recorder.flush()
    const { fromMs, toMs, totals, items } = await one.stats.read(null, { windowMs: 60_000, by: 'queue' })
    expect(totals).toMatchObject({ submitted: 180, started: 180, succeeded: 162, failed: 18, errorRate: 0.1, dead: 0 })
    expect(totals.submittedPerSecond).toBeCloseTo(180 / ((toMs - fromMs) / 1_000), 6)
    expect(toMs - fromMs).toBeGreaterThanOrEqual(60_000)
    expect(toMs - fromMs).toBeLessThan(120_000)
    for (const [told, exact] of [
      [totals.waitMs?.p50, 10],
      [totals.waitMs?.p90, 1_000],
      [totals.runMs?.p99, 100],
    ] as const) {
      expect(Math.abs((told ?? 0) / exact - 1)).toBeLessThan(0.091)
    }
    expect(items).toMatchObject([
      { name: 'q0', submitted: 90, failed: 18 },
      { name: 'q1', submitted: 90, failed: 0 },
    ])
  })

  it('of a tenant are its own, and not kept by queue', async () => {
    const { recorder, stats } = at.newNode()
    for (let n = 0; n < 9; n++) recorder.now().count(place(n), 'submitted')
    const mine = await stats.read('n1', { windowMs: 60_000, by: 'tenant' })
    expect(mine.totals.submitted).toBe(3)
    expect(mine.items).toMatchObject([{ name: 'n1', submitted: 3 }])
    expect((await stats.read('nobody', { windowMs: 60_000, by: null })).totals.submitted).toBe(0)
    for (const by of ['queue', 'task_type'] as const) {
      await expect(stats.read('n1', { windowMs: 60_000, by })).rejects.toMatchObject({ code: 'forbidden' })
    }
  })

  it('that are asked for at once cost one look', async () => {
    const store = at.newStore()
    let reads = 0
    const read = store.read.bind(store)
    store.read = (...args) => {
      reads++
      return read(...args)
    }
    const recorder = new Recorder({ store, storeNowMs: at.storeNowMs })
    const stats = new Stats({
      store,
      recorder,
      clock: { ...systemClock, monotonicMs: () => 0 },
      storeNowMs: at.storeNowMs,
    })
    await Promise.all(Array.from({ length: 50 }, () => stats.read(null, { windowMs: hourMs, by: null })))
    expect(reads).toBe(1)
    store.read = () => Promise.reject(new Error('away'))
    await expect(stats.read(null, { windowMs: 2 * hourMs, by: null })).rejects.toThrow('away')
    store.read = read
    expect((await stats.read(null, { windowMs: 2 * hourMs, by: null })).items).toEqual([])
  })
})

describe('depths', () => {
  it('are summed up once in twenty times as long as that takes, and anew after a failure', async () => {
    const store = at.newStore()
    const clock = new ManualClock()
    let looks = 0
    const look = store.depthOfQueues.bind(store)
    store.depthOfQueues = async () => {
      looks++
      await clock.advance(50)
      return look()
    }
    const depths = new Depths({ store, clock })
    const read = () => depths.read(null, 'queue', async () => [])
    await at.bench.sql(
      "insert into counters values ('deep', 1, 't', '', 1, 7), ('deep', 1, 't', '', 2, -3), ('q', 1, 't', '', 3, -1)",
    )
    const found = { total: 3, byName: new Map(Object.entries({ deep: 4, q: 0 })) }
    expect(await Promise.all([read(), read()])).toEqual([found, found])
    await clock.advance(999)
    await read()
    expect(looks).toBe(1)
    await clock.advance(1)
    expect(await read()).toEqual(found)
    expect(looks).toBe(2)
    await clock.advance(1_000)
    store.depthOfQueues = () => Promise.reject(new Error('away'))
    await expect(read()).rejects.toThrow('away')
    store.depthOfQueues = look
    expect(await read()).toEqual(found)
    expect(await depths.read('t', 'tenant', async () => [])).toEqual({ total: 3, byName: new Map([['t', 3]]) })
    expect(await depths.read(null, 'tenant', async () => ['t'])).toEqual({ total: 3, byName: new Map([['t', 3]]) })
    await at.bench.sql('delete from counters')
  })
})

describe('a node that does not know the time', () => {
  it('counts on in the minute before, and fails nothing', async () => {
    let known: number | null = null
    const store = at.newStore()
    const recorder = new Recorder({ store, storeNowMs: () => known })
    recorder.now().count(place(0), 'submitted')
    known = at.nowMs
    recorder.now().count(place(0), 'submitted')
    const { startMs } = recorder.now()
    known = null
    recorder.now().count(place(0), 'submitted')
    expect(recorder.now().startMs).toBe(startMs)
    const rows: unknown[] = []
    store.writeMinute = async (written) => void rows.push(...written)
    await recorder.flush()
    expect(rows).toContainEqual(expect.objectContaining({ startMs, submitted: 2 }))
  })
})

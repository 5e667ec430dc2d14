import { describe, expect, it } from 'vitest'
import { fillRollups } from '../../../../bench/src/fill-rollups.js'
import { namesPerMinute } from './cells.js'
import { grains } from './grains.js'
import { Summer } from './summer.js'
import { hourMs, place, StatsBench } from './testing/stats-bench.js'

const at = new StatsBench()

describe('sums', () => {
  it('are read in the place of what they are made of, and outlive it', async () => {
    const realNowMs = at.nowMs
    at.nowMs -= 30 * hourMs
    const nodes = [at.newNode(), at.newNode()]
    let submitted = 0
    for (const minutesAgo of [1_800, 1_799, 1_500, 420, 419, 300, 121, 30, 16, 1, 0]) {
      at.nowMs = realNowMs - minutesAgo * 60_000
      for (const { recorder } of nodes) {
        for (let n = 0; n < 6; n++) {
          recorder.now().count(place(n), 'submitted')
          recorder.now().measure(place(n), 'wait', 50)
          submitted++
        }
        await recorder.flush()
      }
    }
    at.nowMs = realNowMs
    const [one] = nodes as [(typeof nodes)[0]]
    const read = async (windowMs = 48 * hourMs) => {
      const { totals, items } = await one.stats.read(null, { windowMs, by: 'task_type' })
      return {
        all: totals.submitted,
        wait: totals.waitMs,
        types: items.map(({ name, submitted }) => [name, submitted]),
      }
    }
    const before = await read()
    const half = submitted / 2
    expect(before).toMatchObject({
      all: submitted,
      types: [
        ['t0', half],
        ['t1', half],
      ],
    })
    const windows = [hourMs, 6 * hourMs, 24 * hourMs, 25 * hourMs, 7 * 24 * hourMs]
    const readAll = async () => Promise.all(windows.map((windowMs) => read(windowMs)))
    const short = await readAll()
    const summer = new Summer({ store: one.store, storeNowMs: at.storeNowMs })
    await Promise.all([summer.runOnce(), new Summer({ store: at.newStore(), storeNowMs: at.storeNowMs }).runOnce()])
    expect(await read()).toEqual(before)
    expect(await readAll()).toEqual(short)
    await summer.runOnce()
    expect(await read()).toEqual(before)
    const rows = await at.bench.sql<{ grain: number; n: number; hours: number }>(
      `select grain, count(distinct start)::integer as n, (extract(epoch from now() - min(start)) / 3600)::float8 as hours
       from stats_rollups group by 1 order by 1`,
    )
    const oldest = Object.fromEntries(rows.map(({ grain, hours }) => [grain, hours]))
    expect(Object.keys(oldest).slice(0, 4)).toEqual(['60', '600', '3600', '21600'])
    expect(oldest[60]).toBeLessThan(3.1)
    expect(oldest[600]).toBeLessThan(26.2)
    expect(oldest[3_600]).toBeGreaterThan(29)
  })

  it('are made anew while a node may still be late with its minutes', async () => {
    const realNowMs = at.nowMs
    at.nowMs = Math.floor(realNowMs / 600_000) * 600_000 - 1
    const [one, two] = [at.newNode(), at.newNode()]
    one.recorder.now().count(place(0), 'submitted')
    two.recorder.now().count(place(0), 'submitted')
    await one.recorder.flush()
    const summer = new Summer({ store: one.store, storeNowMs: () => realNowMs })
    await summer.runOnce()
    await two.recorder.flush()
    await summer.runOnce()
    const rows = await at.bench.sql("select submitted from stats_rollups where grain = 600 and kind = 'all'")
    expect(rows).toEqual([{ submitted: 2 }])
  })

  it('keep as many names apart as a minute, and go after a month', async () => {
    const realNowMs = at.nowMs
    const firstMs = Math.floor(realNowMs / hourMs) * hourMs - 2 * hourMs
    at.nowMs = firstMs
    const { recorder, store, stats } = at.newNode()
    for (let minute = 0; minute < 2; minute++) {
      at.nowMs = firstMs + minute * 60_000
      for (let n = 0; n < 150; n++) {
        recorder.now().count({ queue: `q${minute * 150 + n}`, taskType: 't', tenant: 'x' }, 'started')
      }
      await recorder.flush()
    }
    await at.bench.sql(
      `insert into stats_rollups select g, 'all', now() - interval '32 days', '',
        '00000000-0000-0000-0000-000000000000', 1, 1, 1, 0, 0, 0, 0, 0, 0, '', '' from unnest('{3600,86400}'::integer[]) g`,
    )
    at.nowMs = realNowMs
    await new Summer({ store, storeNowMs: at.storeNowMs }).runOnce()
    const rows = await at.bench.sql<{ kind: string; n: number; started: number }>(
      `select kind, count(*)::integer as n, sum(started)::integer as started from stats_rollups where grain = 3600
       group by 1 order by 1`,
    )
    expect(rows).toEqual([
      { kind: 'all', n: 1, started: 300 },
      { kind: 'queue', n: namesPerMinute + 1, started: 300 },
      { kind: 'task_type', n: 1, started: 300 },
      { kind: 'tenant', n: 1, started: 300 },
    ])
    const { items } = await stats.read(null, { windowMs: 3 * hourMs, by: 'queue' })
    expect(items[0]).toMatchObject({ name: '(other)', started: 100 })
  })

  it('answer windows of any length when they are full', async () => {
    await fillRollups(at.bench.sql, { grains, names: 20, days: 10, writers: 2 })
    const { stats } = at.newNode()
    for (const windowMs of [60_000, hourMs, 24 * hourMs, 7 * 24 * hourMs]) {
      const before = performance.now()
      const { totals, items } = await stats.read(null, { windowMs, by: 'queue' })
      console.info(`${windowMs / 60_000} min of 20 names: ${Math.round(performance.now() - before)} ms`)
      expect(items).toHaveLength(20)
      expect(items.every(({ started }) => started === totals.started)).toBe(true)
      expect(totals.waitMs).not.toBeNull()
    }
  })
})

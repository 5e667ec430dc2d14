import { jitterOf, type Uuid } from '@duly/domain'
import { describe, expect, test } from 'vitest'
import type { CronEdit, CronRecord } from '../model.js'
import { openCronBench } from './testing/cron-bench.js'
import { definition } from './testing/cron-node.js'

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000]

const { one, pass, store } = await openCronBench()

const edit = (id: Uuid, change: Omit<CronEdit, 'template'>) => one.cron.edit(id, null, { ...change, template: {} })
const interval = () => one.cron.create(definition({ expression: null, everyMs: hour }))

async function firedOf(id: Uuid): Promise<number[]> {
  const { items } = await one.cron.firings(id, null, { after: null, limit: 10 })
  return items.filter(({ outcome }) => outcome === 'fired').map(({ fireAtMs }) => fireAtMs)
}

/** One whose jitter moves it by more than ten minutes. */
async function moved(): Promise<CronRecord> {
  for (;;) {
    const made = await one.cron.create(definition({ jitterMs: 30 * minute }))
    if (jitterOf(made.id, 30 * minute) > 10 * minute) return made
  }
}

describe('an edit that leaves the times as they are', () => {
  test('of the jitter, between a fire time and the look at it, loses nothing', async () => {
    const { id, nextFireAtMs } = await moved()
    await pass((nextFireAtMs ?? 0) + minute - one.clock.nowMs())
    expect(await firedOf(id)).toEqual([])
    await edit(id, { jitterMs: 0 })
    await one.drain()
    expect(await firedOf(id)).toEqual([nextFireAtMs])
  })

  test('of its end keeps the beat of an interval, and so does one of its jitter or its time zone', async () => {
    const { id, nextFireAtMs } = await interval()
    await pass(20 * minute)
    for (const change of [{ endsAtMs: (nextFireAtMs ?? 0) + day }, { jitterMs: 5 }, { timezone: 'Asia/Tokyo' }]) {
      expect(await edit(id, change)).toMatchObject({ ...change, nextFireAtMs })
    }
  })

  test('of its end leaves to the misfire policy what was missed while it was paused', async () => {
    const { id, nextFireAtMs } = await one.cron.create(definition({ misfire: 'fire_all' }))
    await edit(id, { enabled: false })
    await pass(2 * hour)
    await edit(id, { enabled: true, endsAtMs: Math.floor(one.clock.nowMs()) + day })
    await one.drain()
    expect((await firedOf(id)).reverse()).toEqual([nextFireAtMs, (nextFireAtMs ?? 0) + hour])
  })

  test('of its end goes on with the beat of one that had ended', async () => {
    const endsAtMs = Math.floor(one.clock.nowMs()) + 90 * minute
    const { id, nextFireAtMs } = await one.cron.create(definition({ expression: null, everyMs: hour, endsAtMs }))
    await pass(100 * minute)
    expect(await one.cron.get(id, null)).toMatchObject({ status: 'ENDED' })
    const renamed = await one.cron.edit(id, null, { template: { payload: '{"n":2}' } })
    expect(renamed.status).toBe('ENDED')
    expect(await edit(id, { endsAtMs: null })).toMatchObject({
      status: 'ACTIVE',
      nextFireAtMs: (nextFireAtMs ?? 0) + hour,
    })
  })

  test('moves what is to come within the new end only, also past a firing that came meanwhile', async () => {
    const { id, nextFireAtMs } = await interval()
    const stored = await store.stores.cron.read(id, null)
    if (stored === null) throw new Error('it was there')
    await pass(61 * minute)
    const endsAtMs = (nextFireAtMs ?? 0) + 10 * minute
    const replacing = { version: stored.version, keepsNext: true, shiftMs: 0 }
    const ending = { ...stored, endsAtMs, wakeAtMs: nextFireAtMs }
    expect(await store.stores.cron.replace(ending, replacing)).toBe(true)
    // the next one, which the firing had set, is behind the end
    expect(await one.cron.get(id, null)).toMatchObject({ status: 'ENDED', fired: 1 })
  })
})

describe('an edit', () => {
  test('to an end that is past, or before all that would come, is refused', async () => {
    const { id } = await interval()
    const nowMs = Math.floor(one.clock.nowMs())
    for (const endsAtMs of [nowMs - minute, nowMs + minute]) {
      await expect(edit(id, { endsAtMs })).rejects.toMatchObject({ code: 'unprocessable' })
    }
  })

  test('of the expression, the interval or the start begins now', async () => {
    const { id, nextFireAtMs } = await interval()
    await pass(20 * minute)
    const startsAtMs = Math.floor(one.clock.nowMs()) + 7 * minute
    expect(await edit(id, { startsAtMs })).toMatchObject({ nextFireAtMs: startsAtMs })
    const doubled = await edit(id, { startsAtMs: null, everyMs: 2 * hour })
    expect(doubled.nextFireAtMs).toBeGreaterThan((nextFireAtMs ?? 0) + hour)
  })
})

import type { Uuid } from '@duly/domain'
import { describe, expect, test } from 'vitest'
import { openCronBench } from './testing/cron-bench.js'
import { definition } from './testing/cron-node.js'

const [second, hour] = [1_000, 3_600_000]

const { one, store, time } = await openCronBench({ at: new Date() })

async function moveTo(atMs: number): Promise<void> {
  const [row] = await store.query<{ nowMs: number }>(`select date_part('epoch', now()) * 1000 as "nowMs"`)
  await time.move(atMs - Math.round(row?.nowMs ?? 0))
  await one.clock.sync()
}

async function firingsOf(id: Uuid): Promise<[fireAtMs: number, outcome: string][]> {
  const { items } = await one.cron.firings(id, null, { after: null, limit: 50 })
  return items.map(({ fireAtMs, outcome }): [number, string] => [fireAtMs, outcome]).reverse()
}

/** Holds a definition for a while, as a trigger by hand does. */
async function hold(id: Uuid, ms: number): Promise<void> {
  const client = await store.admin.connect()
  try {
    await client.query('begin')
    await client.query('select from cron_tasks where id = $1 for update', [id])
    await client.query('select pg_sleep($1)', [ms / 1_000])
    await client.query('commit')
  } finally {
    client.release()
  }
}

describe('a trigger by hand', () => {
  test('at the very millisecond of a fire time takes nothing from the schedule', async () => {
    // between two seconds, as intervals are whose start is not given
    const fireAtMs = Math.ceil(one.clock.nowMs() / second) * second + 321
    const { id } = await one.cron.create(definition({ expression: null, everyMs: hour, startsAtMs: fireAtMs }))
    await moveTo(fireAtMs)
    for (let n = 0; n < 3; n++) await one.cron.trigger(id, null)
    await one.drain()
    expect(await firingsOf(id)).toEqual([[fireAtMs, 'fired'], ...[1, 2, 3].map((ms) => [fireAtMs + ms, 'triggered'])])
  })

  test('that waits for its definition, as ten others do, leaves the connections of the node to what is due', async () => {
    const [held, other] = [await one.cron.create(definition()), await one.cron.create(definition())]
    await moveTo((held.nextFireAtMs ?? 0) + second)
    const client = await store.admin.connect()
    await client.query('begin')
    await client.query('select from cron_tasks where id = $1 for update', [held.id])
    const triggers = Promise.all(Array.from({ length: 11 }, () => one.cron.trigger(held.id, null)))
    const isAwaited = `select from pg_locks l join pg_stat_activity a on a.pid = l.pid
      where not l.granted and a.datname = current_database()`
    while ((await store.query(isAwaited)).length === 0);
    expect(await one.firer.fire()).toBe(1)
    expect((await firingsOf(other.id)).length).toBe(1)
    await client.query('commit')
    client.release()
    expect(new Set((await triggers).map(({ id }) => id)).size).toBe(11)
    await one.drain()
  })

  test('and the next and the next, which hold a definition all the time, do not keep it from firing', async () => {
    const { id, nextFireAtMs } = await one.cron.create(definition())
    await moveTo((nextFireAtMs ?? 0) + second)
    let isOver = false
    const holders = [1, 2, 3].map(async () => {
      while (!isOver) await hold(id, 40)
    })
    for (let pass = 0; pass < 8 && !isOver; pass++) {
      await one.duty.runOnce()
      isOver = (await firingsOf(id)).length > 0
    }
    isOver = true
    await Promise.all(holders)
    expect(await firingsOf(id)).toEqual([[nextFireAtMs, 'fired']])
  })
})

test('a definition that is held for long keeps no other from firing, and fires itself when it is let go', async () => {
  const [held, other] = [await one.cron.create(definition()), await one.cron.create(definition())]
  await moveTo((held.nextFireAtMs ?? 0) + second)
  const client = await store.admin.connect()
  await client.query('begin')
  await client.query('select from cron_tasks where id = $1 for update', [held.id])
  await one.duty.runOnce()
  expect([await firingsOf(held.id), (await firingsOf(other.id)).length]).toEqual([[], 1])
  await client.query('commit')
  client.release()
  await one.duty.runOnce()
  expect(await firingsOf(held.id)).toEqual([[held.nextFireAtMs, 'fired']])
})

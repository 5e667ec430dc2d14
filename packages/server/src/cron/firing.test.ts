import type { Uuid } from '@duly/domain'
import { describe, expect, test } from 'vitest'
import { expectSound } from '../testing/facts.js'
import { FaultPlan, faultyClient } from '../testing/faulty-client.js'
import { openCronBench } from './testing/cron-bench.js'
import { definition, openCronNode } from './testing/cron-node.js'

const [second, minute, hour, day] = [1_000, 60_000, 3_600_000, 86_400_000]

const { advance, clear, one, store, url } = await openCronBench()

/** The nominal times of the tasks that a definition made, oldest first. */
async function tasksOf(id: Uuid): Promise<number[]> {
  const rows = await store.query<{ at: number }>(
    `select date_part('epoch', scheduled_at) * 1000 as at from tasks where cron_id = $1 order by scheduled_at`,
    [id],
  )
  return rows.map(({ at }) => Math.round(at))
}

async function firingsOf(id: Uuid): Promise<string[]> {
  const rows = await store.query<{ outcome: string }>(
    'select outcome from cron_firings where cron_id = $1 order by fire_time',
    [id],
  )
  return rows.map(({ outcome }) => outcome)
}

const steps = (from: number, to: number, step: number): number[] => {
  const found: number[] = []
  for (let at = Math.floor(from / step) * step + step; at <= to; at += step) found.push(at)
  return found
}

const localHour = (timezone: string) => {
  const format = new Intl.DateTimeFormat('en-GB', { timeZone: timezone, hour: '2-digit', minute: '2-digit' })
  return (ms: number) => format.format(ms)
}

test('a year of hourly and daily schedules makes one task for each fire time, none twice', async () => {
  const rules = { misfire: 'fire_all', graceMs: 30 * day } as const
  const beganMs = one.clock.nowMs()
  const hourly = await one.cron.create(definition(rules))
  const daily = await one.cron.create(definition({ ...rules, expression: '0 9 * * *', timezone: 'America/New_York' }))
  const interval = await one.cron.create(definition({ ...rules, expression: null, everyMs: 7 * hour }))
  for (let days = 0; days < 366; days += 4) {
    await advance(4 * day)
    await one.drain()
  }
  const endMs = one.clock.nowMs()
  expect(await tasksOf(hourly.id)).toEqual(steps(beganMs, endMs, hour))
  const mornings = await tasksOf(daily.id)
  expect(new Set(mornings.map(localHour('America/New_York')))).toEqual(new Set(['09:00']))
  expect(mornings.length).toBeGreaterThanOrEqual(366)
  expect(new Set(mornings).size).toBe(mornings.length)
  const every = await tasksOf(interval.id)
  expect(new Set(every.slice(1).map((at, n) => at - (every[n] ?? 0)))).toEqual(new Set([7 * hour]))
  expect(await one.cron.get(hourly.id, null)).toMatchObject({ fired: (await tasksOf(hourly.id)).length, skipped: 0 })
  await clear()
})

describe('three services at once, with faults', () => {
  test('make exactly one task of each definition and fire time', async () => {
    await clear()
    const beganMs = one.clock.nowMs()
    const plans = ['a', 'b', 'c'].map((seed) => new FaultPlan(`cron ${process.env.DULY_SEED ?? 1} ${seed}`, 0.08))
    const nodes = await Promise.all(
      plans.map((plan, n) =>
        openCronNode(url, {
          ...{ number: n + 2, batch: 7, skewMs: (n - 1) * 2 * minute },
          Client: faultyClient((statement) => plan.next(statement)),
        }),
      ),
    )
    const rules = { misfire: 'fire_all', graceMs: day, expression: null, everyMs: 10 * second } as const
    const made = await Promise.all(Array.from({ length: 30 }, () => one.cron.create(definition(rules))))
    for (let round = 0; round < 12; round++) {
      await advance(30 * second)
      // a failed pass is tried again by the duty
      await Promise.all(nodes.map((node) => Promise.all([1, 2].map(() => node.firer.fire().catch(() => 0)))))
    }
    await one.drain()
    const endMs = one.clock.nowMs()
    expect(plans.flatMap(({ met }) => met).length).toBeGreaterThan(20)
    for (const { id, createdAtMs } of made) {
      const times = await tasksOf(id)
      expect(new Set(times).size).toBe(times.length)
      expect(await firingsOf(id)).toEqual(times.map(() => 'fired'))
      expect(times.length).toBeGreaterThanOrEqual(Math.floor((endMs - createdAtMs - second) / (10 * second)))
      expect(times.length).toBeLessThanOrEqual(Math.ceil((endMs - beganMs) / (10 * second)))
    }
    await Promise.all(nodes.map((node) => node.close()))
    await clear()
    await expectSound(store)
  })
})

describe('what was missed', () => {
  const missed = async (misfire: 'fire_once' | 'skip' | 'fire_all') => {
    const { id } = await one.cron.create(definition({ expression: '* * * * * *', misfire, graceMs: 0 }))
    await advance(400 * day)
    const beganMs = one.clock.nowMs()
    await one.firer.fire()
    const [times, outcomes] = [await tasksOf(id), await firingsOf(id)]
    await clear()
    return { times, outcomes, beganMs }
  }

  test('fire_once makes one task, for the latest time', async () => {
    const { times, outcomes, beganMs } = await missed('fire_once')
    expect(times).toHaveLength(1)
    expect(beganMs - (times[0] ?? 0)).toBeLessThan(2 * second)
    expect(outcomes).toEqual(['skipped_misfire', 'fired'])
  })

  test('skip makes none, and says so', async () => {
    const { times, outcomes } = await missed('skip')
    expect(times).toEqual([])
    expect(outcomes).toEqual(['skipped_misfire'])
  })

  test('fire_all makes the latest hundred, oldest first, without stepping through the year', async () => {
    const { times } = await missed('fire_all')
    expect(times).toHaveLength(100)
    expect(times).toEqual(steps((times[0] ?? 0) - second, times.at(-1) ?? 0, second))
  })

  const mebibyte = 1024 * 1024
  test.each([
    { mebibytes: 1, firings: 20, atOnce: 7 },
    { mebibytes: 3, firings: 5, atOnce: 2 },
    { mebibytes: 9, firings: 3, atOnce: 1 },
  ])('of payloads of $mebibytes MiB is made $atOnce at a time', async ({ mebibytes, firings, atOnce }) => {
    const { template } = definition()
    // with its quotes a little more than that
    const payload = JSON.stringify('x'.repeat(mebibytes * mebibyte))
    const rules = { misfire: 'fire_all', graceMs: 0, expression: '* * * * *' } as const
    const { id } = await one.cron.create(definition({ ...rules, template: { ...template, payload } }))
    await advance(firings * minute)
    const before = one.fired.length
    await one.drain()
    const made = one.fired.slice(before).map(({ rows }) => rows.length)
    expect(made.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(firings)
    expect(made.slice(0, 2)).toEqual([atOnce, atOnce])
    expect(Math.max(...made)).toBe(atOnce)
    const times = await tasksOf(id)
    expect(times).toEqual(steps((times[0] ?? 0) - minute, times.at(-1) ?? 0, minute))
    await clear()
  })

  test('and makes one task stays one, however large it is', async () => {
    const { template } = definition()
    const payload = JSON.stringify('x'.repeat(mebibyte))
    const rules = { misfire: 'fire_all', overlap: 'cancel_running', graceMs: 0, expression: '0 * * * *' } as const
    const { id } = await one.cron.create(definition({ ...rules, template: { ...template, payload } }))
    // by the hour: the clock goes on meanwhile, and a minute may end between two passes
    await advance(20 * hour)
    await one.drain()
    expect(await tasksOf(id)).toHaveLength(1)
    await clear()
  })

  test('while it was paused is judged in the same way, and a pause shorter than the grace loses nothing', async () => {
    const { id } = await one.cron.create(definition({ expression: '0 * * * *', graceMs: 10 * hour }))
    await one.cron.edit(id, null, { enabled: false, template: {} })
    await advance(5 * hour)
    expect(await one.firer.fire()).toBe(0)
    expect(await one.cron.get(id, null)).toMatchObject({ status: 'PAUSED', nextFireAtMs: null })
    await one.cron.edit(id, null, { enabled: true, template: {} })
    await one.drain()
    expect(await tasksOf(id)).toHaveLength(5)
    await one.cron.edit(id, null, { enabled: false, template: {} })
    await advance(day)
    await one.cron.edit(id, null, { enabled: true, template: {} })
    await one.drain()
    // the ten that are within the grace, and the latest missed one
    expect((await tasksOf(id)).length - 5).toBeGreaterThanOrEqual(11)
    expect((await tasksOf(id)).length - 5).toBeLessThanOrEqual(12)
    await clear()
  })
})

describe('a definition that cannot be evaluated', () => {
  const spoil = {
    'an expression that cannot be read': `update cron_tasks set expression = 'nonsense' where id = $1`,
    'a zone that is not known any more': `update cron_tasks set timezone = 'Mars/Olympus' where id = $1`,
    'a template that is no JSON': `update cron_tasks set task = '{' where id = $1`,
    'a template with a field that no task has': `update cron_tasks set task = replace(task, '"timeoutMs":60000', '"timeoutMs":0') where id = $1`,
    'metadata that is no JSON': `update cron_tasks set metadata = '{' where id = $1`,
    'a payload that is no JSON': `update cron_tasks set payload = 'x' where id = $1`,
    'a queue that the store refuses': `alter table open_tasks add constraint poison check (queue <> 'poison')`,
  }

  test.each(Object.entries(spoil))('is marked while the others fire: %s', async (what, statement) => {
    await clear()
    const isRefused = what.startsWith('a queue')
    const made = await Promise.all(
      Array.from({ length: 9 }, (_, n) => {
        const plain = definition()
        return one.cron.create(
          isRefused && n === 4 ? { ...plain, template: { ...plain.template, queue: 'poison' } } : plain,
        )
      }),
    )
    const bad = made[4] as (typeof made)[number]
    await store.query(statement, isRefused ? [] : [bad.id])
    await advance(hour)
    await one.drain()
    for (const { id } of made) expect(await tasksOf(id)).toHaveLength(id === bad.id ? 0 : 1)
    const [row] = await store.query<{ error: string | null; late: boolean }>(
      `select error, wake_at > now() + interval '4 minutes' as late from cron_tasks where id = $1`,
      [bad.id],
    )
    expect(row).toEqual({ error: expect.stringMatching(/./), late: true })
    const filters = { tenant: null, status: null, taskType: null, queue: null, name: null, namePrefix: null }
    const { items } = await one.cron.list(filters, null, { after: null, limit: 50 })
    expect(items).toHaveLength(made.length)
    for (const { id, error } of items) expect(error).toBe(id === bad.id ? row?.error : null)
    expect(one.fired.flatMap(({ errors }) => errors).some(({ due }) => due.id === bad.id)).toBe(true)
    // mended, it fires again
    if (isRefused) await store.query('alter table open_tasks drop constraint poison')
    else {
      const { name: _n, tenant: _t, ...mended } = definition()
      await one.cron.edit(bad.id, null, mended)
    }
    await advance(hour)
    await one.drain()
    expect((await tasksOf(bad.id)).length).toBeGreaterThan(0)
    expect((await one.cron.get(bad.id, null)).error).toBeNull()
    await clear()
  })
})

test('a fire time that was judged before makes no second task, whatever the definition says', async () => {
  const { id } = await one.cron.create(definition())
  await advance(hour)
  await one.drain()
  const [at] = await tasksOf(id)
  // as if the move had been lost: only the firing's row stands against it
  await store.query('update cron_tasks set next_fire_at = last_fire_at, wake_at = last_fire_at where id = $1', [id])
  await one.drain()
  expect(await tasksOf(id)).toEqual([at])
  await clear()
})

test('thousands that are due in the same second drain in bounded batches, oldest first', async () => {
  const count = 3_000
  const [{ id }] = [await one.cron.create(definition({ expression: '0 9 * * *' }))]
  await store.query(
    `insert into cron_tasks select overlay(gen_random_uuid()::text placing '7001' from 15 for 4)::uuid, tenant, name || n, version, expression, every_ms, anchor_at, timezone,
       overlap, misfire, grace_ms, starts_at, ends_at, jitter_ms, enabled, next_fire_at, wake_at, null, null, null, 0, 0, null,
       task_type, queue, task, payload, metadata, created_at, updated_at
     from cron_tasks, generate_series(2, $2::integer) n where id = $1`,
    [id, count],
  )
  await store.query('update cron_tenants set definitions = $1', [count])
  await advance(day)
  const before = one.fired.length
  const beganMs = performance.now()
  await one.drain()
  console.info(
    `${count} definitions due at once: ${((count / (performance.now() - beganMs)) * 1_000).toFixed(0)} firings/s`,
  )
  const batches = one.fired.slice(before).filter(({ rows }) => rows.length > 0)
  expect(batches.map(({ rows }) => rows.length)).toEqual(Array(count / 200).fill(200))
  const [row] = await store.query<{ tasks: number }>(
    'select count(distinct cron_id)::integer as tasks from cron_firings where cron_id in (select id from cron_tasks)',
  )
  expect(row?.tasks).toBe(count)
  await clear()
  await expectSound(store)
})

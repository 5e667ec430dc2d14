import type { MisfirePolicy, Uuid } from '@duly/domain'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { expectSound } from '../testing/facts.js'
import { openCronBench } from './testing/cron-bench.js'
import { definition, openCronNode } from './testing/cron-node.js'

const [second, minute, hour, day] = [1_000, 60_000, 3_600_000, 86_400_000]

const bench = await openCronBench({ at: new Date('2026-05-04T12:30:00Z') })
const { clear, one, store, time, url } = bench
const others = await Promise.all([2, 3, 4, 5].map((number) => openCronNode(url, { number })))
const nodes = [one, ...others]
beforeEach(clear)
afterAll(async () => {
  await expectSound(store)
  await Promise.all(others.map((each) => each.close()))
})

const advance = (ms: number) => bench.advance(ms, nodes)

/** The nominal times of a definition's tasks, oldest first. */
async function timesOf(id: Uuid | null): Promise<number[]> {
  const rows = await store.query<{ at: Date }>(
    'select scheduled_at as at from tasks where cron_id = $1 order by scheduled_at',
    [id],
  )
  return rows.map(({ at }) => at.getTime())
}

test('a time zone survives another process, edits of other fields and an import, and is the one that is fired by', async () => {
  const rules = { misfire: 'fire_all', graceMs: 0, expression: '0 0 * * *', timezone: 'Asia/Kolkata' } as const
  const { id } = await one.cron.create(definition(rules))
  const { name: _, ...common } = definition(rules)
  const lines = { crontab: '0 0 * * * backup\n', namePrefix: '', hasUser: false, dryRun: false }
  const [imported] = await one.cron.import({ ...lines, common })
  const restarted = await openCronNode(url, { number: 9 })
  await restarted.cron.edit(id, null, { template: { priority: 1 } })
  for (const each of [id, imported?.id ?? '']) {
    expect((await restarted.cron.get(each, null)).timezone).toBe('Asia/Kolkata')
  }
  await advance(3 * day)
  await restarted.drain()
  const times = [...(await timesOf(id)), ...(await timesOf(imported?.id ?? null))]
  expect(times).toHaveLength(6)
  expect(new Set(times.map((at) => new Date(at).toISOString().slice(11)))).toEqual(new Set(['18:30:00.000Z']))
  await restarted.close()
})

test('after three hours without a scheduler each makes what its policy says: nothing, one task, or all that was missed', async () => {
  const missed = { '*/5 * * * *': 36, '0 * * * *': 3, '0 14 * * *': 1 }
  const wanted: Record<MisfirePolicy, (count: number) => number> = {
    skip: () => 0,
    fire_once: () => 1,
    fire_all: (count) => count,
  }
  // two minutes past the last of them
  await store.query(`update virtual.clock set at = '2026-06-01T12:30:00Z'`)
  await advance(0)
  const made: { readonly id: Uuid; readonly count: number }[] = []
  for (let n = 0; n < 22; n++) {
    for (const [expression, count] of Object.entries(missed)) {
      for (const [misfire, tasks] of Object.entries(wanted)) {
        const rules = { expression, misfire: misfire as MisfirePolicy, graceMs: minute }
        made.push({ id: (await one.cron.create(definition(rules))).id, count: tasks(count) })
      }
    }
  }
  await advance(3 * hour + 2 * minute)
  const before = nodes.map(({ fired }) => fired.length)
  await Promise.all(nodes.map((node) => node.drain()))
  for (const { id, count } of made) expect(await timesOf(id)).toHaveLength(count)
  const batches = nodes.flatMap(({ fired }, n) => fired.slice(before[n])).map(({ rows }) => rows.length)
  expect(Math.max(...batches)).toBeLessThanOrEqual(1_000)
  // the next ones come at their times again
  await advance(3 * minute)
  await one.drain()
  const [first] = made
  expect((await timesOf(first?.id ?? null)).length).toBe((first?.count ?? 0) + 1)
})

test('that five nodes put over and over, also as it fires, fires on, each time once', async () => {
  const rules = { expression: null, everyMs: second, misfire: 'fire_all', graceMs: hour } as const
  const wanted = { ...definition(rules), enabled: null }
  const { record } = await one.cron.put(wanted)
  for (let round = 0; round < 40; round++) {
    await time.move(second)
    await Promise.all(nodes.flatMap(({ cron, firer }) => [cron.put(wanted), firer.fire(), cron.put(wanted)]))
  }
  await one.drain()
  const first = record.nextFireAtMs ?? 0
  const [row] = await store.query<{ now: Date }>('select now()')
  const count = Math.floor(((row?.now.getTime() ?? 0) - first) / second) + 1
  expect(count).toBeGreaterThan(30)
  expect(await timesOf(record.id)).toEqual(Array.from({ length: count }, (_, n) => first + n * second))
  expect((await one.cron.get(record.id, null)).nextFireAtMs).toBe(first + count * second)
  expect(await store.query('select from cron_tasks')).toHaveLength(1)
})

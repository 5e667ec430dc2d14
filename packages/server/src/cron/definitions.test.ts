import { jitterOf, partitionOf, partitionOfKey } from '@duly/domain'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { expectSound } from '../testing/facts.js'
import { partitions } from '../testing/test-node.js'
import { openCronBench } from './testing/cron-bench.js'
import { definition } from './testing/cron-node.js'

const [second, minute, hour] = [1_000, 60_000, 3_600_000]

const { clear, one, openOf, outcomesOf, pass, store, time } = await openCronBench({
  at: new Date('2026-05-04T12:30:00Z'),
  limit: 20,
})
beforeEach(clear)
afterAll(() => expectSound(store))

describe('a definition', () => {
  test('is in the partition of its tenant and name, and so are its tasks', async () => {
    const { id, tenant, name } = await one.cron.create(definition())
    expect(partitionOf(id)).toBe(partitionOfKey(tenant, name, partitions))
    await pass(hour)
    expect(partitionOf((await openOf(id))[0]?.id ?? '')).toBe(partitionOf(id))
  })

  test('that is put twice changes nothing, not even when it fires next', async () => {
    const wanted = { ...definition({ expression: null, everyMs: hour }), enabled: null }
    const first = await one.cron.put(wanted)
    await time.move(20 * minute)
    await one.clock.sync()
    const again = await one.cron.put(wanted)
    expect([first.result, again.result]).toEqual(['created', 'unchanged'])
    expect(again.record).toEqual(first.record)
    // another payload, the same schedule
    const replaced = await one.cron.put({ ...wanted, template: { ...wanted.template, payload: '{"n":2}' } })
    expect(replaced).toMatchObject({ result: 'replaced', record: { nextFireAtMs: first.record.nextFireAtMs } })
    const moved = await one.cron.put({ ...wanted, everyMs: 2 * hour })
    expect(moved.record.nextFireAtMs).toBeGreaterThan((first.record.nextFireAtMs ?? 0) + hour)
  })

  test('that ten put at once is made once', async () => {
    const wanted = { ...definition(), enabled: null }
    const results = await Promise.all(Array.from({ length: 10 }, () => one.cron.put(wanted)))
    expect(new Set(results.map(({ record }) => record.id)).size).toBe(1)
    expect(results.filter(({ result }) => result === 'created')).toHaveLength(1)
  })

  test('stays paused when it is put again, and a changed one fires its new payload', async () => {
    const wanted = { ...definition(), enabled: null }
    const { record } = await one.cron.put(wanted)
    await one.cron.edit(record.id, null, { enabled: false, template: {} })
    const changed = { ...wanted, template: { ...wanted.template, payload: '{"new":true}' } }
    expect((await one.cron.put(changed)).record.status).toBe('PAUSED')
    await one.cron.edit(record.id, null, { enabled: true, template: {} })
    await pass(hour)
    const [task] = await openOf(record.id)
    expect((await store.tasks.get(task?.id ?? '', null)).payload).toBe('{"new":true}')
  })

  test('ends after ends_at, and cannot begin when nothing would come', async () => {
    const endsAtMs = Math.floor(one.clock.nowMs()) + 2 * hour
    const { id } = await one.cron.create(definition({ endsAtMs }))
    await pass(3 * hour)
    expect(await one.cron.get(id, null)).toMatchObject({ status: 'ENDED', nextFireAtMs: null })
    expect(await one.cron.fireTimes(id, null, 5)).toEqual([])
    for (const impossible of [{ endsAtMs }, { endsAtMs: Math.floor(one.clock.nowMs()) + 1, expression: '0 0 1 1 *' }]) {
      await expect(one.cron.create(definition(impossible))).rejects.toMatchObject({ code: 'unprocessable' })
    }
    await expect(one.cron.create(definition({ expression: '0 0 30 2 *' }))).rejects.toMatchObject({
      code: 'unprocessable',
    })
  })

  test('is moved by its jitter, while its fire times stay what the expression says', async () => {
    const { id, nextFireAtMs } = await one.cron.create(definition({ jitterMs: 30 * minute }))
    const shiftMs = jitterOf(id, 30 * minute)
    const { wake } = (
      await store.query<{ wake: number }>(
        `select date_part('epoch', wake_at) * 1000 as wake from cron_tasks where id = $1`,
        [id],
      )
    )[0] ?? { wake: 0 }
    expect(Math.round(wake)).toBe((nextFireAtMs ?? 0) + shiftMs)
    await pass((nextFireAtMs ?? 0) + shiftMs - one.clock.nowMs() - second)
    expect(await openOf(id)).toEqual([])
    await pass(2 * second)
    expect(await openOf(id)).toHaveLength(1)
    expect(await one.cron.get(id, null)).toMatchObject({ lastFireAtMs: nextFireAtMs })
  })

  test('fires at the times that were foretold', async () => {
    const { id } = await one.cron.create(definition({ expression: '*/20 * * * *' }))
    const foretold = await one.cron.fireTimes(id, null, 4)
    for (let n = 0; n < 4; n++) await pass(20 * minute)
    const { items } = await one.cron.firings(id, null, { after: null, limit: 4 })
    expect(items.map(({ fireAtMs }) => fireAtMs).reverse()).toEqual(foretold)
  })

  test('is triggered by hand whatever its state, and its schedule stays', async () => {
    const { id, nextFireAtMs } = await one.cron.create(definition())
    await one.cron.edit(id, null, { enabled: false, template: {} })
    const made = await Promise.all([1, 2, 3].map(() => one.cron.trigger(id, null)))
    expect(new Set(made.map(({ id: task }) => task)).size).toBe(3)
    expect(await outcomesOf(id)).toEqual(['triggered', 'triggered', 'triggered'])
    await one.cron.edit(id, null, { enabled: true, template: {} })
    expect(await one.cron.get(id, null)).toMatchObject({ nextFireAtMs, fired: 3 })
  })

  test('is one too many above the limit of its tenant, and room comes by deleting', async () => {
    const all = []
    for (let n = 0; n < 20; n++) all.push(await one.cron.create(definition()))
    await expect(one.cron.create(definition())).rejects.toMatchObject({ code: 'unprocessable' })
    await one.cron.remove(all[0]?.id ?? '', null)
    // a name that is taken is not counted
    const taken = { ...definition(), name: all[1]?.name ?? '' }
    await expect(one.cron.create(taken)).rejects.toMatchObject({ code: 'name_taken' })
    await one.cron.create(definition())
    await expect(one.cron.create(definition())).rejects.toMatchObject({ code: 'unprocessable' })
  })

  test('that is deleted leaves its tasks and firings readable, to its tenant alone', async () => {
    const { id } = await one.cron.create(definition())
    await pass(hour)
    await one.cron.remove(id, 'acme')
    await expect(one.cron.get(id, null)).rejects.toMatchObject({ code: 'not_found' })
    expect(await openOf(id)).toHaveLength(1)
    expect((await one.cron.firings(id, 'acme', { after: null, limit: 5 })).items).toHaveLength(1)
    await expect(one.cron.firings(id, 'rival', { after: null, limit: 5 })).rejects.toMatchObject({ code: 'not_found' })
    await expect(one.cron.remove(id, 'acme')).rejects.toMatchObject({ code: 'not_found' })
  })
})

test('lists are filtered, paged, and of one tenant', async () => {
  const made = []
  for (let n = 0; n < 7; n++) made.push(await one.cron.create(definition({ name: `list-${n}` })))
  await one.cron.edit(made[0]?.id ?? '', null, { enabled: false, template: {} })
  const none = { tenant: null, status: null, taskType: null, queue: null, name: null, namePrefix: null }
  const all: string[] = []
  for (let after: string | null = null; ; ) {
    const page: Awaited<ReturnType<typeof one.cron.list>> = await one.cron.list(none, 'acme', { after, limit: 3 })
    all.push(...page.items.map(({ id }) => id))
    after = page.next
    if (after === null) break
  }
  expect(all).toEqual(
    made
      .map(({ id }) => id)
      .sort()
      .reverse(),
  )
  const namesOf = async (filter: object, tenant: string | null = null) =>
    (await one.cron.list({ ...none, ...filter }, tenant, { after: null, limit: 50 })).items.map(({ name }) => name)
  expect(await namesOf({ status: 'PAUSED' })).toEqual(['list-0'])
  expect(await namesOf({ namePrefix: 'list-6' })).toEqual(['list-6'])
  expect(await namesOf({ name: 'list-3' }, 'acme')).toEqual(['list-3'])
  expect(await namesOf({}, 'rival')).toEqual([])
  await expect(namesOf({ tenant: 'acme' }, 'rival')).rejects.toMatchObject({ code: 'forbidden' })
})

test('a crontab is taken line by line, and the same one again changes nothing', async () => {
  const { name: _, ...common } = { ...definition({ overlap: 'queue' }), tenant: 'acme', enabled: null }
  const crontab = 'MAILTO=me\n# nightly\n0 3 * * * backup --all\nCRON_TZ=Asia/Tokyo\n@daily report\nnonsense\n'
  const request = { crontab, common, namePrefix: 'web/', hasUser: false }
  const judged = await one.cron.import({ ...request, dryRun: true })
  const all = (taken: string) => ['ignored', 'ignored', taken, 'ignored', taken, 'refused']
  expect(judged.map(({ result }) => result)).toEqual(all('would_import'))
  const lines = async (more = {}) => one.cron.import({ ...request, ...more, dryRun: false })
  const results = async (more = {}) => (await lines(more)).map(({ result }) => result)
  expect(await results()).toEqual(all('created'))
  expect(await results()).toEqual(all('unchanged'))
  expect(await results({ common: { ...common, graceMs: 1 } })).toEqual(all('replaced'))
  const [backup, report] = (await lines()).flatMap(({ id }) => (id === null ? [] : [id]))
  const shared = { tenant: 'acme', overlap: 'queue', graceMs: common.graceMs, enabled: true }
  expect(await one.cron.get(backup ?? '', null)).toMatchObject({ ...shared, expression: '0 3 * * *', timezone: 'UTC' })
  expect(await one.cron.get(report ?? '', null)).toMatchObject({
    ...{ ...shared, expression: '@daily', timezone: 'Asia/Tokyo' },
    template: { ...common.template, payload: '{"command":"report"}' },
  })
})

test('is read by its name in its tenant', async () => {
  const made = await one.cron.create({ ...definition({}), tenant: 'acme', name: 'by-name' })
  expect(await one.cron.getByName('acme', 'by-name')).toEqual(made)
  await expect(one.cron.getByName('rival', 'by-name')).rejects.toMatchObject({ code: 'not_found' })
})

test('tasks that would all be expired are refused where a schedule is set', async () => {
  const { template, ...others } = definition({})
  const nowMs = Math.floor(one.clock.nowMs())
  const past = { ...template, expiresAtMs: nowMs - 1 }
  await expect(one.cron.create({ ...others, template: past })).rejects.toMatchObject({
    code: 'unprocessable',
    errors: [{ path: 'expires_at', message: expect.stringContaining('every task of it would be cancelled') }],
  })
  const later = { ...template, expiresAtMs: nowMs + 48 * hour }
  expect((await one.cron.create({ ...others, template: later })).template).toMatchObject(later)
})

test('an idle duty sends one statement in five seconds, and sleeps until what comes', async () => {
  expect(await one.duty.runOnce()).toBe(5_000)
  await one.cron.create(definition({ expression: null, everyMs: 2 * second }))
  const waitMs = await one.duty.runOnce()
  expect(waitMs).toBeGreaterThan(0)
  expect(waitMs).toBeLessThanOrEqual(2 * second)
  expect(one.duty.isSooner(one.clock.nowMs() + hour)).toBe(false)
})

import type { Uuid } from '@duly/domain'
import { pino } from 'pino'
import { beforeEach, expect, test } from 'vitest'
import { expectSound } from '../testing/facts.js'
import { openCronBench } from './testing/cron-bench.js'
import { definition } from './testing/cron-node.js'
import { ZoneData, type ZoneDataOptions } from './zone-data.js'

const [minute, hour] = [60_000, 3_600_000]
const me = '01900000-0000-7000-8000-00000000000a' as Uuid

const { one, store, time } = await openCronBench({ at: new Date('2026-05-04T12:30:00Z') })
const told: number[] = []
beforeEach(async () => {
  await store.query('truncate cron_tasks, cron_tenants, cron_firings, nodes')
  await store.query('delete from deployment')
  await joinNode(me, null)
  told.length = 0
})

/** A node of the deployment, with the data that it has said it has. */
const joinNode = (id: Uuid, data: string | null) =>
  store.query(
    `insert into nodes (id, number, roles, version, time_zone_data, started_at, seen_at)
     select $1, count(*), '{api,scheduler}', '', $2, now(), now() from nodes`,
    [id, data],
  )

function zoneData(over: Partial<ZoneDataOptions> = {}): ZoneData {
  const bounds = { own: '2026a', renews: true, batch: 3, node: me }
  const parts = {
    store: store.stores.zones,
    log: pino({ level: 'silent' }),
    onScheduled: (at: number) => told.push(at),
  }
  return new ZoneData({ ...parts, ...bounds, ...over })
}
const look = (over: Partial<ZoneDataOptions> = {}) => zoneData(over).runOnce(new AbortController().signal)

const remembered = async () =>
  (await store.query<{ value: string }>(`select value from deployment where name = 'time_zone_data'`))[0]?.value
const remember = (data: string) => store.query(`insert into deployment values ('time_zone_data', $1)`, [data])

/** What old rules said: so much too late. */
const spoil = (id: Uuid, lateMs: number) =>
  store.query(
    `update cron_tasks set next_fire_at = next_fire_at + $2 * interval '1 ms', wake_at = wake_at + $2 * interval '1 ms' where id = $1`,
    [id, lateMs],
  )

const nextOf = async (id: Uuid) => {
  const [row] = await store.query<{ next: Date | null; wake: Date | null }>(
    'select next_fire_at as next, wake_at as wake from cron_tasks where id = $1',
    [id],
  )
  return [row?.next?.toISOString(), row?.wake?.toISOString()]
}
const at = (instant: string) => [`2026-05-${instant}:00.000Z`, `2026-05-${instant}:00.000Z`]

const daily = (over: Parameters<typeof definition>[0] = {}) =>
  one.cron.create(definition({ expression: '0 9 * * *', timezone: 'America/Vancouver', ...over }))

test('by newer rules, next times are computed anew, a batch at a time, and told', async () => {
  await remember('2025b')
  const made = []
  for (let n = 0; n < 7; n++) made.push(await daily())
  for (const { id } of made) await spoil(id, hour)
  const [paused] = [await daily()]
  await one.cron.edit(paused.id, null, { enabled: false, template: {} })
  await spoil(paused.id, hour)
  await look()
  for (const { id } of [...made, paused]) expect(await nextOf(id)).toEqual(at('04T16:00'))
  expect(new Set(told)).toEqual(new Set([Date.parse('2026-05-04T16:00:00Z')]))
  expect(await remembered()).toBe('2026a')
  // what is remembered is not looked at again
  await spoil(paused.id, hour)
  await look()
  expect(await nextOf(paused.id)).toEqual(at('04T17:00'))
})

test('what does not depend on a zone, what is due, and what cannot be evaluated stay as they are', async () => {
  const every = await one.cron.create(definition({ expression: null, everyMs: hour }))
  const due = await daily()
  const bad = await daily()
  await spoil(every.id, minute)
  await spoil(due.id, -4 * hour)
  await store.query(`update cron_tasks set timezone = 'Mars/Olympus' where id = $1`, [bad.id])
  const before = await Promise.all([every, due, bad].map(({ id }) => nextOf(id)))
  await look()
  expect(await Promise.all([every, due, bad].map(({ id }) => nextOf(id)))).toEqual(before)
  expect(await remembered()).toBe('2026a')
})

test('jitter moves the look and not the time, and what ends before it would come ends', async () => {
  const shifted = await daily({ jitterMs: 30 * minute })
  const [next, wake] = await nextOf(shifted.id)
  const ending = await daily({ endsAtMs: Date.parse('2026-05-04T16:30:00Z') })
  await spoil(shifted.id, hour)
  // by the old rules it came earlier
  await spoil(ending.id, -hour)
  await store.query(`update cron_tasks set ends_at = '2026-05-04T15:30:00Z' where id = $1`, [ending.id])
  await look()
  expect(await nextOf(shifted.id)).toEqual([next, wake])
  expect(await nextOf(ending.id)).toEqual([undefined, undefined])
})

test('a time that has passed by the new rules and was not judged is due at once; one that was judged does not come again', async () => {
  const [missed, judged] = [await daily(), await daily()]
  await time.move(3 * hour + 45 * minute)
  await one.clock.sync()
  // 16:15; by the old rules both come at 17:00
  await spoil(missed.id, hour)
  await spoil(judged.id, hour)
  await store.query(
    `insert into cron_firings (cron_id, fire_time, tenant, fired_at, outcome)
     values ($1, '2026-05-04T16:00:00Z', 'acme', now(), 'skipped_overlap')`,
    [judged.id],
  )
  await look()
  expect(await nextOf(missed.id)).toEqual(at('04T16:00'))
  expect(await nextOf(judged.id)).toEqual(at('05T16:00'))
  await one.drain()
  const { items } = await one.cron.firings(missed.id, null, { after: null, limit: 5 })
  expect(items.map(({ fireAtMs }) => new Date(fireAtMs).toISOString())).toEqual(['2026-05-04T16:00:00.000Z'])
  await expectSound(store)
})

test('who fires or edits a definition meanwhile wins', async () => {
  const [fired, edited, plain] = [await daily(), await daily(), await daily()]
  for (const { id } of [fired, edited, plain]) await spoil(id, hour)
  const { zones } = store.stores
  const renew = async (crons: Parameters<typeof zones.renew>[0]) => {
    await spoil(fired.id, 24 * hour)
    await one.cron.edit(edited.id, null, { overlap: 'skip', template: {} })
    return zones.renew(crons)
  }
  const raced = new Proxy(zones, {
    get: (of, name: keyof typeof zones) => (name === 'renew' ? renew : of[name].bind(of)),
  })
  await look({ store: raced, batch: 10 })
  const next = await nextOf(plain.id)
  expect(next).not.toEqual(await nextOf(fired.id))
  const waits = async (id: Uuid) => Date.parse((await nextOf(id))[0] ?? '') - Date.parse(next[0] ?? '')
  expect([await waits(fired.id), await waits(edited.id)]).toEqual([25 * hour, hour])
})

test('as long as a node has older rules, what it writes is looked at again and again', async () => {
  const older = '01900000-0000-7000-8000-00000000000b' as Uuid
  const { id } = await daily()
  const right = await nextOf(id)
  for (const data of ['2025b', null]) {
    await joinNode(older, data)
    for (let n = 0; n < 2; n++) {
      await spoil(id, hour)
      await look()
      expect(await nextOf(id)).toEqual(right)
    }
    expect(await remembered()).toBeUndefined()
    await store.query('delete from nodes where id = $1', [older])
  }
  await look()
  expect(await remembered()).toBe('2026a')
})

test('a node with older rules takes back what is remembered and computes nothing; one without schedules neither', async () => {
  await remember('2026a')
  const { id } = await daily()
  await spoil(id, hour)
  const spoilt = await nextOf(id)
  await look({ own: '2025c' })
  expect([await nextOf(id), await remembered()]).toEqual([spoilt, '2025c'])
  await look({ own: '2026a', renews: false })
  expect([await nextOf(id), await remembered()]).toEqual([spoilt, '2025c'])
  await look({ own: '2026a' })
  expect([await nextOf(id), await remembered()]).toEqual([at('05T16:00'), '2026a'])
})

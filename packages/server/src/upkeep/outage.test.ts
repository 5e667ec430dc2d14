import { pino } from 'pino'
import { beforeEach, expect, test } from 'vitest'
import { openRow } from '../testing/facts.js'
import { type Life, passDeadline, say, startLife, watch, words } from '../testing/lives.js'
import { openStillStore } from '../testing/still-store.js'
import { openTestNode } from '../testing/test-node.js'

// an outage is told by seconds
const store = await openStillStore()
const { node } = store
beforeEach(() => watch(node))

const s = (seconds: number) => `now() - interval '${seconds} s'`

/** The store as it is found after it could not be written for so long. */
const awayFor = (seconds: number) => node.query(`update store_marks set marked_at = ${s(seconds)}`)

/** When the session's lease ran out, by the store's clock. */
const leaseEnded = (life: Life, secondsAgo: number) =>
  node.query(`update worker_sessions set live_until = ${s(secondsAgo)} where id = $1`, [life.worker.row.id])

const leaseLeftMs = async (life: Life): Promise<number> => {
  const [row] = await node.query<{ leftMs: number }>(
    `select extract(epoch from live_until - now())::float8 * 1000 as "leftMs" from worker_sessions where id = $1`,
    [life.worker.row.id],
  )
  return row?.leftMs ?? Number.NaN
}

const beat = (life: Life) => node.stores.sessions.beat([{ session: life.worker.row.id, lagMs: null, rssBytes: null }])

test('a session that lived when the store went away gets a fresh, full lease, and loses nothing', async () => {
  const life = await startLife(node)
  await awayFor(30)
  await leaseEnded(life, 10)
  await node.watchdog.runOnce()
  expect(await leaseLeftMs(life)).toBeGreaterThan(14_000)
  expect(await openRow(node, life.id)).toMatchObject({ status: 'RUNNING', crashes: 0 })
  await watch(node)
  expect(await say(node, life, words.succeed)).toMatchObject({ accepted: true, status: 'SUCCEEDED' })
})

test('one that was dead before stays dead', async () => {
  const life = await startLife(node)
  await awayFor(30)
  await leaseEnded(life, 31)
  expect(await beat(life)).toEqual([])
  await node.watchdog.runOnce()
  expect(await openRow(node, life.id)).toMatchObject({ status: 'PENDING', crashes: 1 })
})

test('between the outage and the first pass beats and claims are not refused', async () => {
  const life = await startLife(node)
  await awayFor(30)
  await leaseEnded(life, 10)
  expect(await node.stores.sessions.load(life.worker.row.id)).not.toBeNull()
  const more = await startLife(node)
  expect(more.worker.row.id).not.toBe(life.worker.row.id)
  expect(await beat(life)).toHaveLength(1)
  expect(await leaseLeftMs(life)).toBeGreaterThan(14_000)
  await node.watchdog.runOnce()
  expect(await openRow(node, life.id)).toMatchObject({ status: 'RUNNING' })
})

test('a gap of less than 3 s is no outage', async () => {
  const life = await startLife(node)
  await awayFor(2.5)
  await leaseEnded(life, 1)
  await node.watchdog.runOnce()
  expect(await openRow(node, life.id)).toMatchObject({ status: 'PENDING', crashes: 1 })
})

test('deadlines that passed meanwhile wait for one lease, so that reports can arrive', async () => {
  const life = await startLife(node)
  await passDeadline(node, life.id)
  await awayFor(30)
  await node.watchdog.runOnce()
  await node.watchdog.runOnce()
  expect(await openRow(node, life.id)).toMatchObject({ status: 'RUNNING', failures: 0 })
  const [mark] = await node.query<{ waitsMs: number }>(
    `select extract(epoch from judge_after - now())::float8 * 1000 as "waitsMs" from store_marks`,
  )
  expect(mark?.waitsMs).toBeGreaterThan(14_000)
  await node.query('update store_marks set judge_after = now()')
  await node.watchdog.runOnce()
  expect(await openRow(node, life.id)).toMatchObject({ status: 'RETRYING', failures: 1 })
})

test('two watchdogs that find the store back renew once; a second outage is a new one', async () => {
  const life = await startLife(node)
  await awayFor(30)
  await leaseEnded(life, 10)
  const marks = await Promise.all([1, 2, 3].map(() => node.stores.watch.mark()))
  expect(marks.filter(({ wasOut }) => wasOut)).toHaveLength(1)
  await awayFor(40)
  await leaseEnded(life, 5)
  expect(await node.stores.watch.mark()).toMatchObject({ wasOut: true })
  expect(await leaseLeftMs(life)).toBeGreaterThan(14_000)
})

test('is worth a warning when leases were renewed, not when a deployment comes back from a rest', async () => {
  const lines: { level: number; msg: string; sessions?: number }[] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const other = await openTestNode(store.url, { number: 1, log })
  await node.query(`update worker_sessions set ended_at = now() where ended_at is null`)
  await awayFor(30)
  await other.watchdog.runOnce()
  await startLife(node)
  await awayFor(30)
  await other.watchdog.runOnce()
  await other.close()
  const told = lines.filter(({ msg }) => msg.startsWith('the store was away'))
  expect(told.map(({ level, sessions }) => [log.levels.labels[level], sessions])).toEqual([
    ['debug', 0],
    ['warn', 1],
  ])
})

test('the mark never goes back', async () => {
  await node.query(`update store_marks set marked_at = now() + interval '1 min'`)
  await node.stores.watch.mark()
  const [row] = await node.query<{ isAhead: boolean }>(`select marked_at > now() as "isAhead" from store_marks`)
  expect(row?.isAhead).toBe(true)
  await node.query('update store_marks set marked_at = now()')
})

import { randomFillSync } from 'node:crypto'
import { IdMinter, ManualClock, timestampMsOf } from '@duly/domain'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTestNode, openTestStore, type TestNode } from '../testing/test-node.js'
import { Database } from './database.js'
import { StoreClock } from './store-clock.js'

const store = await openTestStore()
let clock: ManualClock
let node: TestNode
beforeAll(async () => {
  clock = new ManualClock(Date.UTC(1999, 0, 1))
  node = await openTestNode(store.url, { number: 1, clock })
})
afterAll(async () => {
  await node.close()
})

async function storeMs(): Promise<number> {
  const [row] = await store.node.query<{ ms: number }>(
    'select extract(epoch from clock_timestamp())::float8 * 1000 as ms',
  )
  return row?.ms ?? Number.NaN
}

test("the store's time is told, whatever the node's own clock says", async () => {
  await node.storeClock.sync()
  const before = await storeMs()
  // the manual clock stood still meanwhile
  expect(before - node.storeClock.nowMs()).toBeGreaterThanOrEqual(0)
  expect(before - node.storeClock.nowMs()).toBeLessThan(60_000)
  const told = node.storeClock.nowMs()
  for (const jump of [86_400_000, -400 * 86_400_000, 3_600_000]) {
    clock.jumpWall(jump)
    expect(node.storeClock.nowMs()).toBe(told)
  }
  await clock.advance(1_234)
  expect(node.storeClock.nowMs()).toBeCloseTo(told + 1_234, 6)
})

test('an offset that grew is corrected by the next look', async () => {
  await clock.advance(600_000)
  const ahead = node.storeClock.nowMs()
  await node.storeClock.sync()
  expect(ahead - node.storeClock.nowMs()).toBeGreaterThan(500_000)
})

test('ids carry the time of the store', async () => {
  await node.storeClock.sync()
  const id = node.minter.mint()
  expect(Math.abs(timestampMsOf(id) - (await storeMs()))).toBeLessThan(60_000)
})

test('an hour without a look, or none at all, and nothing is minted or submitted', async () => {
  const unavailable = { code: 'store_unavailable', retryAfterSeconds: 1 }
  const never = new StoreClock(node.database, clock)
  const minter = new IdMinter({
    nowMs: () => never.nowMs(),
    random: (bytes) => void randomFillSync(bytes),
    partitions: 1,
  })
  expect(() => minter.mint()).toThrow(expect.objectContaining(unavailable))
  await node.storeClock.sync()
  await clock.advance(3_599_999)
  expect(() => node.minter.mint()).not.toThrow()
  await clock.advance(1)
  expect(() => node.minter.mint()).toThrow(expect.objectContaining(unavailable))
  await node.storeClock.sync()
  expect(() => node.minter.mint()).not.toThrow()
})

test('a look that took long does not replace a fresh one, but is better than an old one', async () => {
  /** A database whose answers take 2 s of the node's time. */
  const slow = {
    query: async (statement: Parameters<Database['query']>[0]) => {
      await clock.advance(1_000)
      const rows = await node.database.query(statement)
      await clock.advance(1_000)
      return rows
    },
  } as unknown as Database
  let isSlow = false
  const between = {
    query: (statement: never) => (isSlow ? slow : node.database).query(statement),
  } as unknown as Database
  const learned = new StoreClock(between, clock)
  await learned.sync()
  isSlow = true
  const before = learned.nowMs()
  await learned.sync()
  expect(learned.nowMs()).toBeCloseTo(before + 2_000, 3) // only carried on
  await clock.advance(60_000)
  const carried = learned.nowMs()
  await learned.sync()
  expect(carried - learned.nowMs()).toBeGreaterThan(50_000) // learned anew: the store's time had hardly moved
})

test('a look that fails leaves what is known', async () => {
  const broken = new Database({
    ...{ url: 'postgres://nobody@127.0.0.1:1/none', hotConnections: 1, generalConnections: 1, applicationName: 'x' },
    ...{ statementTimeoutMs: 1_000, onError: () => {} },
  })
  await expect(new StoreClock(broken, clock).sync()).rejects.toMatchObject({ code: 'store_unavailable' })
  await broken.close()
})

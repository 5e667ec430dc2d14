import { randomFillSync } from 'node:crypto'
import { IdMinter, systemClock } from '@duly/domain'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { makeStores, type Stores } from '../node/stores.js'
import type { Take } from '../queue/port.js'
import { addTasks, makeStoreBench, type StoreBench } from '../queue/testing/store-bench.js'
import type { SessionState } from './session-state.js'
import { Sessions, type SessionsOptions } from './sessions.js'
import { enough } from './testing/http-node.js'

let bench: StoreBench
let here: Stores
let elsewhere: Stores
let options: SessionsOptions
let sessions: Sessions
beforeAll(async () => {
  bench = await makeStoreBench()
  here = makeStores(bench.database, { nodeNumber: 0, graceMs: 5_000 })
  elsewhere = makeStores(bench.database, { nodeNumber: 1, graceMs: 5_000 })
  await bench.sql('update store_marks set marked_at = now()')
  const minter = new IdMinter({ nowMs: Date.now, random: (bytes) => void randomFillSync(bytes), partitions: 1 })
  options = {
    ...{ store: here.sessions, progress: here.progress, minter, clock: systemClock },
    ...{ heartbeatMs: 60_000, leaseMs: 180_000, onLost: () => {}, onGap: () => {}, onLines: () => {} },
  }
  sessions = new Sessions(options)
})
afterAll(() => bench.close())

let queues = 0

/** A session of one slot, served here, and two tasks for it. */
async function setUp(): Promise<{ state: SessionState; take: (stores: Stores, token: bigint) => Promise<Take> }> {
  const queue = `take-over-${queues++}`
  const registration = { name: 'w', host: null, version: null, queues: [queue], taskTypes: ['work'], slots: 1 }
  const { id } = await sessions.register({ ...registration, heartbeatMs: null }, null)
  const [task] = await addTasks(bench.sql, { queue, count: 2 })
  const lane = (task as NonNullable<typeof task>).lane
  const take = (stores: Stores, token: bigint): Promise<Take> =>
    stores.queue.take({ takes: [{ lane, sessions: [id], fromMs: 0 }], taskTypes: ['work'], token })
  return { state: await sessions.require({ id, tenant: null }), take }
}

describe('a node that takes a session over from another one', () => {
  it('lets what it began before be refused first, so that it is not granted beside what the other node gave', async () => {
    const { state, take } = await setUp()
    state.open({ slots: 1, hurry: false, answer: () => {} })
    // a claim that is on its way to the store, while another node serves the session and gives it what it has room for
    state.promise(1)
    await elsewhere.sessions.serve(state.row.id)
    expect(await take(elsewhere, 1n)).toMatchObject({ tasks: [{ attempt: 1 }] })
    const serving = sessions.serve(state)
    await enough()
    expect(await take(here, 100n)).toEqual({ tasks: [], refused: [state.row.id] })
    state.fulfil(1, [])
    await serving
    expect(state).toMatchObject({ isServed: true, free: 0 })
    expect(state.leases.size).toBe(1)
  })

  it('does so once at a time, so that no older word of the store is believed beside a newer one', async () => {
    const { state, take } = await setUp()
    state.open({ slots: 1, hurry: false, answer: () => {} })
    state.doubt()
    const first = sessions.serve(state)
    expect(sessions.serve(state)).toBe(first)
    expect(await first).toBe(0)
    expect((await take(here, 1n)).tasks).toHaveLength(1)
    // what came later is asked for anew
    expect(await sessions.serve(state)).toBe(1)
    expect(state).toMatchObject({ isServed: true, free: 0 })
  })
})

test('a session that is forgotten for want of room is promised nothing more under its old state', async () => {
  const lost: SessionState[] = []
  const few = new Sessions({ ...options, maxStates: 2, onLost: (state) => lost.push(state) })
  const registration = { name: 'w', host: null, version: null, queues: ['room'], taskTypes: ['work'], slots: 1 }
  const hire = async (): Promise<SessionState> => {
    const { id } = await few.register({ ...registration, heartbeatMs: null }, null)
    return few.require({ id, tenant: null })
  }
  const [first, second] = [await hire(), await hire()]
  expect(first.isServed).toBe(true)
  // this one waits, and is not the one that goes
  first.open({ slots: 1, hurry: false, answer: () => {} })
  await hire()
  expect(lost).toEqual([second])
  expect(second.isServed).toBe(false)
  const next = await few.require({ id: second.row.id, tenant: null })
  expect(next).not.toBe(second)
  expect(next.isServed).toBe(false)
})

import { randomBytes } from 'node:crypto'
import { type Caller, encodeSecret, ManualClock, type Scope, secretBytes, type Uuid } from '@duly/domain'
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { Database } from '../store/database.js'
import { KeyStore } from '../store/key-store.js'
import { openTestStore } from '../testing/test-node.js'
import { hashSecret } from './hash-secret.js'
import { KeyRing } from './key-ring.js'
import { KeyUses } from './key-uses.js'
import { unknownSecret } from './testing/guarded-nodes.js'

const bench = await openTestStore()
let store: KeyStore
let ring: KeyRing
let clock: ManualClock
let used: Uuid[]
/** Where the store's clock stands for the ring. */
let storeNowMs = 0
const limit = 50
beforeEach(() => {
  store = new KeyStore(bench.node.database, 0)
  clock = new ManualClock()
  used = []
  ring = makeRing(store)
  storeNowMs = 0
})

function makeRing(on: Pick<KeyStore, 'find'>): KeyRing {
  const onUsed = (id: Uuid): void => void used.push(id)
  return new KeyRing({ store: on, clock, storeNowMs: () => storeNowMs, limit, onUsed })
}

async function newKey(
  options: { scopes?: readonly Scope[]; tenant?: string; expiresAtMs?: number } = {},
): Promise<{ id: Uuid; secret: string }> {
  const { scopes = ['read'], tenant = null, expiresAtMs = null } = options
  const id = bench.node.minter.mint()
  const secret = encodeSecret(randomBytes(secretBytes))
  await store.create({ id, name: 'k', hash: hashSecret(secret), scopes, tenant, expiresAtMs }, 10_000)
  return { id, secret }
}

const sql = async (text: string, values: readonly unknown[] = []) => bench.node.query(text, values)
const revokeRow = (id: Uuid): Promise<unknown> => sql('update api_keys set revoked_at = now() where id = $1', [id])
const identify = async (secret: string, mayBeStale = false): Promise<Caller> => ring.identify(secret, { mayBeStale })
const refusal = (message: RegExp) => ({ code: 'unauthenticated', status: 401, message: expect.stringMatching(message) })

describe('a key', () => {
  test('is asked for once, and known from then on without a wait', async () => {
    const { id, secret } = await newKey({ scopes: ['submit', 'read'], tenant: 'acme' })
    const asked = vi.spyOn(store, 'find')
    const callers = await Promise.all(Array.from({ length: 100 }, () => identify(secret)))
    expect(asked).toHaveBeenCalledTimes(1)
    const [caller] = callers
    expect(caller).toMatchObject({ keyId: expect.stringMatching(/^key-/), tenant: 'acme' })
    expect([...(caller?.scopes ?? [])]).toEqual(['submit', 'read'])
    for (let n = 0; n < 1_000; n++) expect(ring.identify(secret, { mayBeStale: false })).toBe(caller)
    expect(asked).toHaveBeenCalledTimes(1)
    expect(new Set(used)).toEqual(new Set([id]))
  })

  test('in use is asked for again beside the requests, so that none waits; after a rest one does', async () => {
    const { secret } = await newKey()
    await identify(secret)
    const asked = vi.spyOn(store, 'find')
    for (let second = 0; second < 5; second++) {
      await clock.advance(600)
      expect(ring.identify(secret, { mayBeStale: false })).not.toBeInstanceOf(Promise)
      await vi.waitFor(() => expect(asked.mock.settledResults).toHaveLength(second + 1), { timeout: 30_000 })
      await asked.mock.results.at(-1)?.value
      await clock.advance(0)
    }
    await clock.advance(60_000)
    expect(ring.identify(secret, { mayBeStale: false })).toBeInstanceOf(Promise)
  })

  test('with an end is refused from that instant of the store on', async () => {
    const [{ now } = { now: 0 }] = await bench.node.query<{ now: number }>(
      `select date_part('epoch', now()) * 1000 as now`,
    )
    const { secret } = await newKey({ expiresAtMs: Math.ceil(now) + 60_000 })
    storeNowMs = Math.ceil(now) + 59_999
    await identify(secret)
    storeNowMs += 1
    await expect(identify(secret)).rejects.toMatchObject(refusal(/has expired/))
  })

  test('that is not used makes room for those that are', async () => {
    const { secret: first } = await newKey()
    await identify(first)
    for (let n = 0; n < limit; n++) await identify((await newKey()).secret)
    expect(ring.size).toBe(limit)
    expect(ring.identify(first, { mayBeStale: false })).toBeInstanceOf(Promise)
  })
})

describe('a revoked key', () => {
  test('is refused as soon as a word of it comes', async () => {
    const { id, secret } = await newKey()
    const caller = await identify(secret)
    const heard: string[] = []
    ring.onRevoked((keyId) => heard.push(keyId))
    await revokeRow(id)
    ring.revoked(id)
    await expect(identify(secret)).rejects.toMatchObject(refusal(/was revoked/))
    await expect((async () => ring.confirm(caller))()).rejects.toMatchObject(refusal(/was revoked/))
    expect(heard).toEqual([caller.keyId])
  })

  test('is refused within a second without a word', async () => {
    const { id, secret } = await newKey()
    const caller = await identify(secret)
    await revokeRow(id)
    await clock.advance(999)
    expect(await identify(secret)).toBe(caller)
    await clock.advance(1)
    await expect(identify(secret)).rejects.toMatchObject(refusal(/was revoked/))
  })

  test('is asked for at once when words may have been missed', async () => {
    const { id, secret } = await newKey()
    await identify(secret)
    await revokeRow(id)
    ring.doubtAll()
    await expect(identify(secret)).rejects.toMatchObject(refusal(/was revoked/))
  })

  test('is not learnt back from what was read before', async () => {
    const { id, secret } = await newKey()
    const find = store.find.bind(store)
    const late = vi.spyOn(store, 'find').mockImplementationOnce(async (hashes) => {
      const rows = await find(hashes)
      await revokeRow(id)
      ring.revoked(id)
      return rows
    })
    await expect(identify(secret)).rejects.toMatchObject(refusal(/was revoked/))
    expect(late).toHaveBeenCalledTimes(2)
  })

  test('does not pass because the store is slow: what it said long ago is believed no longer', async () => {
    const { secret } = await newKey()
    const find = store.find.bind(store)
    const slow = vi.spyOn(store, 'find').mockImplementation(async (hashes) => {
      const rows = await find(hashes)
      await clock.advance(1_500)
      return rows
    })
    await expect(identify(secret)).rejects.toMatchObject({ code: 'store_unavailable', retryAfterSeconds: 1 })
    expect(slow).toHaveBeenCalledTimes(3)
  })
})

describe('wrong secrets', () => {
  test('that have not the form of one are never asked for', async () => {
    const asked = vi.spyOn(store, 'find')
    for (const text of ['', 'duly_', 'x'.repeat(10_000), `${unknownSecret()}0`]) {
      await expect(identify(text)).rejects.toMatchObject(refusal(/no such API key/))
    }
    expect(asked).not.toHaveBeenCalled()
  })

  test('are asked for a few hundred at a time, one statement at a time, and do not push out the good ones', async () => {
    const { secret } = await newKey()
    const caller = await identify(secret)
    const asked = vi.spyOn(store, 'find')
    const wrong = Array.from({ length: 2_000 }, unknownSecret)
    const answers = await Promise.allSettled(wrong.map((text) => identify(text)))
    expect(answers.filter(({ status }) => status === 'rejected')).toHaveLength(2_000)
    expect(asked.mock.calls.length).toBeLessThanOrEqual(5)
    expect(ring.identify(secret, { mayBeStale: false })).toBe(caller)
  })

  test('that come again are not asked for again for a while', async () => {
    const asked = vi.spyOn(store, 'find')
    const wrong = unknownSecret()
    for (let n = 0; n < 100; n++) await expect(identify(wrong)).rejects.toMatchObject(refusal(/no such/))
    expect(asked).toHaveBeenCalledTimes(1)
    await clock.advance(5_000)
    await expect(identify(wrong)).rejects.toMatchObject(refusal(/no such/))
    expect(asked).toHaveBeenCalledTimes(2)
  })
})

describe('while the store is away', () => {
  const nowhere = new Database({
    url: 'postgres://u:p@127.0.0.1:1/x',
    ...{ hotConnections: 1, generalConnections: 1, applicationName: 'duly test', statementTimeoutMs: 1_000 },
    onError: () => {},
  })
  afterAll(() => nowhere.close())
  const away = new KeyStore(nowhere, 0)

  test('nobody can tell, which is no 401; what needs no store takes a key that it knew', async () => {
    const { secret } = await newKey()
    let current: KeyStore = store
    ring = makeRing({ find: (hashes) => current.find(hashes) })
    const caller = await identify(secret)
    current = away
    expect(await identify(secret)).toBe(caller)
    await clock.advance(1_000)
    const unavailable = { code: 'store_unavailable', status: 503, retryAfterSeconds: 1 }
    await expect(identify(secret)).rejects.toMatchObject(unavailable)
    expect(await identify(secret, true)).toBe(caller)
    for (const mayBeStale of [true, false]) {
      await expect(identify(unknownSecret(), mayBeStale)).rejects.toMatchObject(unavailable)
    }
    current = store
    expect(await identify(secret)).toBe(caller)
  })
})

describe('the last use', () => {
  test('is written once a minute at most, many keys in one statement', async () => {
    const uses = new KeyUses({ store, clock, limit })
    const keys = await Promise.all([newKey(), newKey(), newKey()])
    const written = vi.spyOn(store, 'used')
    const lastUses = () =>
      bench.node.query<{ at: Date | null }>('select last_used_at as at from api_keys where id = any ($1)', [
        keys.map(({ id }) => id),
      ])
    await uses.save()
    expect(written).not.toHaveBeenCalled()
    for (let n = 0; n < 10; n++) for (const { id } of keys) uses.used(id)
    await uses.save()
    await uses.save()
    expect(written.mock.calls.map(([ids]) => ids.length)).toEqual([3])
    expect((await lastUses()).every(({ at }) => at !== null)).toBe(true)
    await clock.advance(59_999)
    for (const { id } of keys) uses.used(id)
    await uses.save()
    await clock.advance(1)
    for (const { id } of keys) uses.used(id)
    await uses.save()
    expect(written.mock.calls.map(([ids]) => ids.length)).toEqual([3, 3])
  })

  test('does not wait for another node that writes it', async () => {
    const { id } = await newKey()
    const holder = await bench.node.admin.connect()
    try {
      await holder.query('begin')
      await holder.query('select 1 from api_keys where id = $1 for update', [id])
      await store.used([id])
    } finally {
      await holder.query('rollback')
      holder.release()
    }
  })
})

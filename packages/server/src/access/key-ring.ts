import { type Caller, type Clock, DulyError, encodeId, isSecret, type Uuid } from '@duly/domain'
import { Batcher } from '../base/batcher.js'
import { busy } from '../base/busy.js'
import type { Gate } from '../model.js'
import type { KeyStore, ShownKey } from '../store/key-store.js'
import { hashKey } from './hash-secret.js'

/** So long a node believes what the store said of a key, counted from when it asked. A revoked key is refused everywhere after that. */
export const trustMs = 1_000
/** What is older is asked again beside the request, so that a key in use never makes one wait. */
const refreshMs = 500
/** An unknown secret is not asked for again for so long. None becomes known later: a key is in the store before its secret is shown. */
const unknownMs = 5_000
const maxLooks = 3
/** Secrets that wait to be asked for. */
const maxWaiting = 20_000

export interface KeyRingOptions {
  readonly store: Pick<KeyStore, 'find'>
  readonly clock: Clock
  readonly storeNowMs: () => number
  /** Keys and, apart from them, unknown secrets that are remembered. */
  readonly limit: number
  readonly onUsed: (id: Uuid) => void
}

interface Entry {
  readonly id: Uuid
  readonly caller: Caller
  readonly expiresAtMs: number | null
  checkedAtMs: number
}

type Found = Entry | 'unknown' | 'revoked'

/**
 * The keys that this node knows, by the hashes of their secrets. What the store said is believed for a second at most; a word that a
 * key was revoked takes it off the ring at once. All that is to be asked at one time is one statement, however many wrong secrets
 * are tried.
 */
export class KeyRing implements Gate {
  readonly #options: KeyRingOptions
  /** The one that was not asked for the longest comes first. */
  readonly #known = new Map<string, Entry>()
  readonly #unknown = new Map<string, { readonly untilMs: number; readonly found: 'unknown' | 'revoked' }>()
  readonly #hashes = new Map<Uuid, string>()
  readonly #hashOf = new WeakMap<Caller, string>()
  readonly #looking = new Map<string, Promise<Found>>()
  readonly #listeners: ((keyId: string) => void)[] = []
  readonly #looks: Batcher<string, Found>
  /** Revocations that were heard of: what was read before one is read again. */
  #revocations = 0

  constructor(options: KeyRingOptions) {
    this.#options = options
    this.#looks = new Batcher({
      maxItems: 500,
      maxBytes: Number.POSITIVE_INFINITY,
      full: { items: maxWaiting, bytes: Number.POSITIVE_INFINITY },
      lanes: 1,
      run: (hashes) => this.#ask(hashes),
    })
  }

  /** Keys that are remembered. */
  get size(): number {
    return this.#known.size
  }

  identify(secret: string, { mayBeStale }: { readonly mayBeStale: boolean }): Caller | Promise<Caller> {
    if (!isSecret(secret)) throw refused('unknown')
    return this.#identify(hashKey(secret), mayBeStale)
  }

  confirm(caller: Caller): void | Promise<void> {
    const hash = this.#hashOf.get(caller)
    if (hash === undefined) return
    const found = this.#identify(hash, false)
    if (found instanceof Promise) return found.then(() => {})
  }

  onRevoked(listener: (keyId: string) => void): void {
    this.#listeners.push(listener)
  }

  /** The key was revoked: it is refused from now on. */
  revoked(id: Uuid): void {
    this.#revocations++
    const hash = this.#hashes.get(id)
    if (hash !== undefined) this.#forget(id, hash)
    const keyId = encodeId('key', id)
    for (const listener of this.#listeners) listener(keyId)
  }

  /** Words of revocations may have been missed: everything is asked again before it is believed. */
  doubtAll(): void {
    this.#revocations++
    for (const entry of this.#known.values()) entry.checkedAtMs = Number.NEGATIVE_INFINITY
  }

  #identify(hash: string, mayBeStale: boolean): Caller | Promise<Caller> {
    const known = this.#known.get(hash)
    const nowMs = this.#options.clock.monotonicMs()
    if (known && nowMs - known.checkedAtMs < trustMs) {
      if (nowMs - known.checkedAtMs > refreshMs) void this.#look(hash).catch(() => {})
      return this.#admit(known)
    }
    const unknown = this.#unknown.get(hash)
    if (unknown && nowMs < unknown.untilMs) throw refused(unknown.found)
    return this.#lookFresh(hash).catch((error: unknown) => {
      const isStoreAway = error instanceof DulyError && error.code === 'store_unavailable'
      if (isStoreAway && known && mayBeStale && this.#known.get(hash) === known) return this.#admit(known)
      throw error
    })
  }

  /** A look can be under way since long, on a slow store: what it brings is believed no longer for that. */
  async #lookFresh(hash: string): Promise<Caller> {
    for (let look = 0; look < maxLooks; look++) {
      const found = await this.#look(hash)
      if (typeof found === 'string') throw refused(found)
      if (this.#options.clock.monotonicMs() - found.checkedAtMs < trustMs) return this.#admit(found)
    }
    throw new DulyError('store_unavailable', 'The database is too slow to say whether this API key is still good.', {
      retryAfterSeconds: 1,
    })
  }

  #admit({ id, caller, expiresAtMs }: Entry): Caller {
    if (expiresAtMs !== null && this.#options.storeNowMs() >= expiresAtMs) throw refused('expired')
    this.#options.onUsed(id)
    return caller
  }

  #look(hash: string): Promise<Found> {
    if (this.#looks.isFull) return Promise.reject(busy('requests'))
    const looking = this.#looking.get(hash) ?? this.#looks.add(hash).finally(() => this.#looking.delete(hash))
    this.#looking.set(hash, looking)
    return looking
  }

  async #ask(hashes: readonly string[]): Promise<Found[]> {
    const { store, clock } = this.#options
    const bytes = hashes.map((hash) => Buffer.from(hash, 'base64'))
    for (;;) {
      const revocations = this.#revocations
      const askedAtMs = clock.monotonicMs()
      const rows = new Map((await store.find(bytes)).map((row) => [row.hash.toString('base64'), row]))
      // the statement may have read the key before it was revoked
      if (revocations !== this.#revocations) continue
      return hashes.map((hash) => this.#learn(hash, rows.get(hash), askedAtMs))
    }
  }

  #learn(hash: string, row: ShownKey | undefined, askedAtMs: number): Found {
    if (row === undefined || row.isRevoked) {
      if (row) this.#forget(row.id, hash)
      const found = row ? 'revoked' : 'unknown'
      remember(this.#unknown, this.#options.limit, [hash, { found, untilMs: askedAtMs + unknownMs }])
      return found
    }
    const entry = this.#known.get(hash) ?? this.#entryOf(row, hash)
    entry.checkedAtMs = askedAtMs
    for (const [old, { id }] of remember(this.#known, this.#options.limit, [hash, entry])) this.#forget(id, old)
    this.#hashes.set(row.id, hash)
    return entry
  }

  #entryOf({ id, scopes, tenant, expiresAtMs }: ShownKey, hash: string): Entry {
    const caller = Object.freeze({ keyId: encodeId('key', id), scopes: new Set(scopes), tenant, expiresAtMs })
    this.#hashOf.set(caller, hash)
    return { id, caller, expiresAtMs, checkedAtMs: 0 }
  }

  #forget(id: Uuid, hash: string): void {
    this.#known.delete(hash)
    this.#hashes.delete(id)
  }
}

/** Puts the entry last, and drops the first ones beyond the limit, which it answers. */
function remember<V>(map: Map<string, V>, limit: number, [key, value]: readonly [string, V]): [string, V][] {
  map.delete(key)
  map.set(key, value)
  const dropped: [string, V][] = []
  for (const entry of map) {
    if (map.size <= limit) break
    map.delete(entry[0])
    dropped.push(entry)
  }
  return dropped
}

const reasons = {
  unknown:
    'There is no such API key. Look whether the whole secret was sent: it begins with duly_ and has 57 characters.',
  revoked: 'This API key was revoked.',
  expired: 'This API key has expired.',
} as const

const refused = (why: keyof typeof reasons): DulyError => new DulyError('unauthenticated', reasons[why])

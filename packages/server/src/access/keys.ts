import { type Clock, DulyError, encodeId, encodeSecret, limits, type TenantScope, type Uuid } from '@duly/domain'
import type { Logger } from 'pino'
import type { Actor, ApiKeyRecord, NewApiKey, Page, PageRequest, Services } from '../model.js'
import type { KeyStore } from '../store/key-store.js'
import { hashSecret } from './hash-secret.js'
import { trustMs } from './key-ring.js'

export interface KeysOptions {
  readonly store: KeyStore
  readonly clock: Clock
  readonly mint: () => Uuid
  /** As many random bytes as a secret has. */
  readonly random: () => Uint8Array
  readonly log: Logger
  /** A key was revoked here. */
  readonly onRevoked: (id: Uuid) => void
}

/** Nodes count their second from before they asked; this is for the roughness of timers. */
const marginMs = 50

/** Makes, lists and revokes API keys. */
export class Keys implements NonNullable<Services['keys']> {
  readonly #options: KeysOptions

  constructor(options: KeysOptions) {
    this.#options = options
  }

  async create(key: NewApiKey, actor: Actor): Promise<{ readonly record: ApiKeyRecord; readonly secret: string }> {
    const { store, mint, random, log } = this.#options
    const secret = encodeSecret(random())
    const scopes = [...new Set(key.scopes)]
    const row = { ...key, scopes, id: mint(), hash: hashSecret(secret) }
    const record = await store.create(row, limits.apiKeysMaxCount)
    if (record === 'late')
      throw new DulyError('unprocessable', 'expires_at is not in the future: the key would never work.')
    if (record === 'full') throw new DulyError('unprocessable', tooMany(key.tenant))
    log.info({ ...toldOf(row.id, actor), name: key.name, scopes, tenant: key.tenant }, 'API key made')
    return { record, secret }
  }

  list(tenant: TenantScope, page: PageRequest): Promise<Page<ApiKeyRecord>> {
    return this.#options.store.list(tenant, page)
  }

  /** Resolves when no node takes the key any more: the others drop it at the store's word, or have to ask within {@link trustMs}. */
  async revoke(id: Uuid, tenant: TenantScope, actor: Actor): Promise<{ readonly isLastAdmin: boolean }> {
    const { store, clock, log, onRevoked } = this.#options
    const done = await store.revoke(id, tenant)
    if (done === null) throw new DulyError('not_found', 'There is no such API key.')
    onRevoked(id)
    if (done.revoked > 0) log.info(toldOf(id, actor), 'API key revoked')
    if (done.isLastAdmin) log.warn({ key: encodeId('key', id) }, 'no live API key is left that may make others')
    if (done.hasOthers) await clock.sleep(trustMs + marginMs)
    return { isLastAdmin: done.isLastAdmin }
  }
}

const toldOf = (id: Uuid, { kind, name }: Actor) => ({ key: encodeId('key', id), by: name ?? kind })

const tooMany = (tenant: TenantScope): string =>
  `There are ${limits.apiKeysMaxCount} live API keys ${tenant === null ? 'that are bound to no tenant' : `of ${tenant}`} already; revoke some.`

import { checkOptions, namesOf } from '../known-options.js'
import type { HttpClient } from './http.js'
import { everyPage } from './pages.js'
import type { ApiKeyRecord, ApiKeyScope, CreatedApiKey, RevokedApiKey } from './records.js'
import { fromWire } from './wire.js'

/** What a new API key shall be good for. */
export interface CreateKeyOptions {
  /** For people: who uses it, and for what. */
  readonly name: string
  /** `admin` includes the others. */
  readonly scopes: readonly ApiKeyScope[]
  /** Binds the key to a tenant; null: to none. As the key that asks unless given. */
  readonly tenant?: string | null
  /** From then on the key is refused; never unless given. */
  readonly expiresAt?: Date | string
}

const createNames = {
  names: namesOf<CreateKeyOptions>({ name: true, scopes: true, tenant: true, expiresAt: true }),
  elsewhere: { tenant_id: 'tenant', scope: 'scopes' },
}

/** `duly.keys`: API keys. All calls take a key with the scope `admin`; one that is bound to a tenant manages that tenant's. */
export class ApiKeys {
  readonly #http: HttpClient

  constructor(http: HttpClient) {
    this.#http = http
  }

  /** Makes a key. Its secret is in this answer and nowhere else. Not repeated when the answer got lost. */
  async create(options: CreateKeyOptions): Promise<CreatedApiKey> {
    checkOptions('keys.create', options, createNames)
    const { name, scopes, tenant, expiresAt } = options
    const body = JSON.stringify({ name, scopes, tenant_id: tenant, expires_at: expiresAt })
    const answer = await this.#http.call({ method: 'POST', path: '/api-keys', body, repeatable: false })
    return fromWire(answer.body) as CreatedApiKey
  }

  /** All keys, newest first, revoked ones too. */
  list(): Promise<readonly ApiKeyRecord[]> {
    return everyPage<ApiKeyRecord>(this.#http, '/api-keys')
  }

  /**
   * Revokes a key: when this resolves, no node takes it any more. Revoking it again changes nothing.
   *
   * @throws DulyApiError `not_found`
   */
  async revoke(id: string): Promise<RevokedApiKey> {
    const path = `/api-keys/${encodeURIComponent(id)}`
    return fromWire((await this.#http.call({ method: 'DELETE', path, repeatable: true })).body) as RevokedApiKey
  }
}

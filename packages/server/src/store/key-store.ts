import type { Scope, TenantScope, Uuid } from '@duly/domain'
import type { ApiKeyRecord, Page, PageRequest } from '../model.js'
import { changeBy } from './commits.js'
import { byKey, type Database, type Statement } from './database.js'
import { byteaArray, textArray, uuidArray } from './params.js'
import { ofTenant } from './tenant-scope.js'

/** Where the store tells of a revoked key, by its id. */
export const revocations = 'duly_keys'

/** What a key that was shown is good for. */
export interface ShownKey {
  readonly id: Uuid
  /** The hash by which it was asked for. */
  readonly hash: Buffer
  readonly scopes: readonly Scope[]
  readonly tenant: TenantScope
  readonly expiresAtMs: number | null
  readonly isRevoked: boolean
}

export interface NewKeyRow {
  readonly id: Uuid
  readonly name: string
  readonly hash: Buffer
  readonly scopes: readonly Scope[]
  readonly tenant: TenantScope
  readonly expiresAtMs: number | null
}

/** What a revocation came to. */
export interface RevokedRow {
  /** 0: it had been revoked before. */
  readonly revoked: number
  /** Other nodes may not have heard of it yet. */
  readonly hasOthers: boolean
  /** It may manage everybody's keys, and no live key is left that may. */
  readonly isLastAdmin: boolean
}

const ms = (column: string, name: string): string => `date_part('epoch', ${column}) * 1000 as "${name}"`
const columns = `
  k.id, k.name, k.scopes, k.tenant, ${ms('k.created_at', 'createdAtMs')}, ${ms('k.expires_at', 'expiresAtMs')},
  ${ms('k.last_used_at', 'lastUsedAtMs')}, ${ms('k.revoked_at', 'revokedAtMs')}`

/** Keys by the hashes of their secrets: what every request rests on, so many at once as were asked for. */
const findKeys: Statement = {
  name: 'find_keys',
  text: `
select k.id, k.secret_hash as hash, k.scopes, k.tenant, ${ms('k.expires_at', 'expiresAtMs')},
  k.revoked_at is not null as "isRevoked"
from unnest($1::bytea[]) as h (hash) join api_keys k on ${byKey('k.secret_hash', 'h.hash')}`,
}

/** $7 bounds the live keys of one binding. */
const create: Statement = {
  name: 'create_key',
  text: `
with asked as materialized (
  select to_timestamp($6::float8 / 1000) as expires_at
),
facts as materialized (
  select a.expires_at, coalesce(a.expires_at <= now(), false) as "isLate",
    (select count(*) from api_keys l where l.tenant is not distinct from $5::text and l.revoked_at is null) >= $7::integer as "isFull"
  from asked a
),
k as (
  insert into api_keys (id, name, secret_hash, scopes, tenant, created_at, expires_at)
  select $1, $2, $3, $4, $5, now(), f.expires_at from facts f where not f."isLate" and not f."isFull"
  returning *
)
select f."isLate", f."isFull", ${columns} from facts f left join k on true`,
}

const list: Statement = {
  name: 'list_keys',
  text: `
select ${columns} from api_keys k
where ${ofTenant('k.tenant', '$1')} and ($2::uuid is null or k.id < $2::uuid)
order by k.id desc limit $3`,
}

/**
 * Revokes, and tells every node in the same transaction. $3 is the node that asks: the others are those that may still believe in the
 * key for a moment.
 */
const revoke: Statement = {
  name: 'revoke_key',
  text: `
with gone as materialized (
  update api_keys k set revoked_at = now() where k.id = $1 and k.revoked_at is null and ${ofTenant('k.tenant', '$2')}
  returning k.id
),
told as materialized (select pg_notify('${revocations}', g.id::text) from gone g)
select exists (select from api_keys k where k.id = $1 and ${ofTenant('k.tenant', '$2')}) as "isThere",
  (select count(*) from told)::integer as revoked,
  exists (select from api_keys k where k.id = $1 and k.tenant is null and 'admin' = any (k.scopes))
    and not exists (select from api_keys o where o.id <> $1 and o.tenant is null and 'admin' = any (o.scopes)
      and o.revoked_at is null and (o.expires_at is null or o.expires_at > now())) as "isLastAdmin",
  exists (select from nodes n where n.number is distinct from $3::integer and n.seen_at > now() - interval '60 seconds') as "hasOthers"`,
}

/** Whoever writes at the same time writes the same: a locked row is left to it. */
const used: Statement = {
  name: 'keys_used',
  text: `
with u as (
  select k.id from api_keys k where k.id = any ($1::uuid[]) order by k.id for update skip locked
)
update api_keys k set last_used_at = greatest(k.last_used_at, now()) from u where k.id = u.id`,
}

const any: Statement = {
  name: 'any_key',
  text: `select exists (select from api_keys where revoked_at is null and (expires_at is null or expires_at > now())) as "is"`,
}

/** API keys. Secrets never come here, only their hashes. */
export class KeyStore {
  readonly #database: Database
  readonly #node: number | null

  /** @param node the number of the node that asks; null: a program beside the nodes */
  constructor(database: Database, node: number | null) {
    this.#database = database
    this.#node = node
  }

  async find(hashes: readonly Buffer[]): Promise<ShownKey[]> {
    return this.#database.hot<ShownKey>(findKeys, [byteaArray(hashes)])
  }

  /** The record, or why there is none: it would be expired from its beginning, or there are `most` live ones of the binding. */
  async create(key: NewKeyRow, most: number): Promise<ApiKeyRecord | 'late' | 'full'> {
    const { id, name, hash, scopes, tenant, expiresAtMs } = key
    type CreateRow = ApiKeyRecord & { readonly isLate: boolean; readonly isFull: boolean }
    const values = [id, name, hash, textArray(scopes), tenant, expiresAtMs, most]
    const [row] = await changeBy<CreateRow>(this.#database, create, values)
    const { isLate, isFull, ...record } = row as CreateRow
    if (isLate) return 'late'
    return isFull ? 'full' : record
  }

  /** Newest first; the keys of one tenant, or all. */
  async list(tenant: TenantScope, { after, limit }: PageRequest): Promise<Page<ApiKeyRecord>> {
    const rows = await this.#database.query<ApiKeyRecord>(list, [tenant, after, limit + 1])
    const items = rows.slice(0, limit)
    return { items, next: rows.length > limit ? (items.at(-1)?.id ?? null) : null }
  }

  /** Null: there is no such key. */
  async revoke(id: Uuid, tenant: TenantScope): Promise<RevokedRow | null> {
    const [row] = await changeBy<RevokedRow & { isThere: boolean }>(this.#database, revoke, [id, tenant, this.#node])
    return row?.isThere ? row : null
  }

  async used(ids: readonly Uuid[]): Promise<void> {
    await this.#database.query(used, [uuidArray(ids)])
  }

  /** Whether there is a key that somebody could use. */
  async any(): Promise<boolean> {
    return (await this.#database.query<{ is: boolean }>(any))[0]?.is ?? false
  }
}

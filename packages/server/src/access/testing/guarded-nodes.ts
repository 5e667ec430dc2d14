import { randomBytes } from 'node:crypto'
import {
  decodeId,
  encodeId,
  encodeSecret,
  type Scope,
  secretBytes,
  type TenantScope,
  uuidFromBytes,
} from '@duly/domain'
import { Api, type HttpNode, openStore, startHttpNode } from '../../dispatch/testing/http-node.js'
import { withKeysOf } from '../../node/local-keys.js'
import type { Sql } from '../../queue/testing/store-bench.js'

const tester = { kind: 'system', name: 'tester' } as const

/** A key for a test: what the API tells of it once. */
export interface TestKey {
  readonly id: string
  readonly secret: string
}

/** A deployment that asks for keys: a database and two nodes on it. */
export interface Guarded {
  readonly url: string
  readonly sql: Sql
  readonly nodes: readonly [HttpNode, HttpNode]
  /** Makes a key straight in the database. */
  key(scopes: readonly Scope[], tenant?: TenantScope, expiresAtMs?: number | null): Promise<TestKey>
  /** The API of one node, or the other, with a key. */
  api(secret: string, node?: 0 | 1): Api
}

export async function openGuarded(): Promise<Guarded> {
  const { url, sql } = await openStore()
  const nodes = [await startHttpNode(url, { open: false }), await startHttpNode(url, { open: false })] as const
  return {
    ...{ url, sql, nodes },
    key: (scopes, tenant = null, expiresAtMs = null) =>
      withKeysOf(url, async (keys) => {
        const { record, secret } = await keys.create({ name: 'test', scopes, tenant, expiresAtMs }, tester)
        return { id: encodeId('key', record.id), secret }
      }),
    api: (secret, node = 0) => new Api(nodes[node].url, secret),
  }
}

/** A secret that no key has. */
export const unknownSecret = (): string => encodeSecret(randomBytes(secretBytes))

/** An id of the right form that nothing has. */
export const unknownId = (prefix: 'task' | 'worker' | 'key' | 'cron' | 'bulk' | 'wf'): string =>
  encodeId(prefix, uuidFromBytes(randomBytes(16), 0))

/** Revokes without telling anybody, as a node sees it whose word got lost. */
export async function revokeSilently(sql: Sql, id: string): Promise<void> {
  await sql('update api_keys set revoked_at = now() where id = $1', [decodeId('key', id)])
}

import { encodeId } from '@duly/domain'
import type { ApiKeyRecord } from '../model.js'
import { instant, type WritableObject, writeJson } from './write-json.js'

/** A key as the API tells it: never its secret, nor the hash. */
export function keyOf(key: ApiKeyRecord): WritableObject {
  return {
    key_id: encodeId('key', key.id),
    name: key.name,
    scopes: key.scopes,
    tenant_id: key.tenant,
    created_at: instant(key.createdAtMs),
    expires_at: instant(key.expiresAtMs),
    last_used_at: instant(key.lastUsedAtMs),
    revoked_at: instant(key.revokedAtMs),
  }
}

export const writeCreatedKey = ({ record, secret }: { record: ApiKeyRecord; secret: string }): string =>
  writeJson({ ...keyOf(record), secret })

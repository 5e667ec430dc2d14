import { type Caller, DulyError } from '@duly/domain'
import type { ApiParts } from '../../api/build-api.js'
import { MemoryServices } from '../../api/test-support/memory-services.js'
import type { Gate } from '../../model.js'
import { createLogger } from '../../telemetry/logger.js'
import { createMetrics } from '../../telemetry/metrics.js'

const callers: Readonly<Record<string, Caller>> = {
  read: { keyId: 'key-read', scopes: new Set(['read']), tenant: null, expiresAtMs: null },
  admin: { keyId: 'key-admin', scopes: new Set(['admin']), tenant: null, expiresAtMs: null },
  'admin-acme': { keyId: 'key-acme', scopes: new Set(['admin']), tenant: 'acme', expiresAtMs: null },
}

/** Knows some callers by their names, in place of secrets. */
const gate: Gate = {
  identify: (secret) => {
    const caller = callers[secret]
    if (caller === undefined) throw new DulyError('unauthenticated', 'There is no such API key.')
    return caller
  },
  confirm: () => {},
  onRevoked: () => {},
}

/** An api that asks for the callers above. */
export function testParts(): ApiParts & { readonly services: MemoryServices } {
  const logger = createLogger({ level: 'silent' })
  return { services: new MemoryServices(), gate, logger, metrics: createMetrics({ process: false }) }
}

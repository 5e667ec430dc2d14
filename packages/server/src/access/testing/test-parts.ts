import { type Caller, DulyError, encodeId } from '@duly/domain'
import type { ApiParts } from '../../api/build-api.js'
import { MemoryServices } from '../../api/test-support/memory-services.js'
import type { Gate } from '../../model.js'
import { createLogger } from '../../telemetry/logger.js'
import { createMetrics } from '../../telemetry/metrics.js'

const keyId = (n: number): string => encodeId('key', `00000000-0000-7000-8000-00000000000${n}`)

const callers: Readonly<Record<string, Caller>> = {
  read: { keyId: keyId(1), scopes: new Set(['read']), tenant: null, expiresAtMs: null },
  admin: { keyId: keyId(2), scopes: new Set(['admin']), tenant: null, expiresAtMs: null },
  'admin-acme': { keyId: keyId(3), scopes: new Set(['admin']), tenant: 'acme', expiresAtMs: null },
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

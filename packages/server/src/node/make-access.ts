import { randomBytes } from 'node:crypto'
import { type Clock, secretBytes, type Uuid } from '@duly/domain'
import { KeyRing } from '../access/key-ring.js'
import { KeyUses } from '../access/key-uses.js'
import { Keys } from '../access/keys.js'
import type { KeyStore } from '../store/key-store.js'
import type { Logger } from '../telemetry/logger.js'

export interface AccessParts {
  readonly store: KeyStore
  readonly clock: Clock
  readonly storeNowMs: () => number
  readonly mint: () => Uuid
  readonly log: Logger
}

/** Keys that a node remembers: about 1 KB each. */
const maxKnown = 10_000

/** What asks for API keys, and what makes them. */
export function makeAccess({ store, clock, storeNowMs, mint, log }: AccessParts) {
  const uses = new KeyUses({ store, clock, limit: maxKnown })
  const ring = new KeyRing({ store, clock, storeNowMs, limit: maxKnown, onUsed: uses.used })
  const onRevoked = (id: Uuid): void => ring.revoked(id)
  const keys = new Keys({ store, clock, mint, random: () => randomBytes(secretBytes), log, onRevoked })
  return { ring, uses, keys }
}

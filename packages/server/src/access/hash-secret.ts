import { createHash } from 'node:crypto'

/**
 * What is kept of a secret: its SHA-256. No slow hash and no salt: those are for passwords, which people choose and share between
 * places; of 256 random bits nobody tries even a part.
 */
export function hashSecret(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}

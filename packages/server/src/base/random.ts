import { randomFillSync } from 'node:crypto'

const pool = Buffer.alloc(4_096)
let used = pool.length

/** The random part of a fence: 1 to 2^61, so that a batch can count up from it within a bigint. */
export function randomToken(): bigint {
  if (used + 8 > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const token = (pool.readBigUInt64BE(used) >> 3n) + 1n
  used += 8
  return token
}

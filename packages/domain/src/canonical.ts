import { createHash } from 'node:crypto'

/**
 * The one text of a JSON value: no white space, keys sorted by UTF-16 code unit, numbers and strings as JSON.stringify writes them. Equal
 * values have equal texts whatever their keys' order. `__proto__` is a key like any other. Properties that are undefined are left out.
 * Recursive: its depth is that of the value, which the edge limits to 100.
 *
 * @throws TypeError for what JSON cannot say exactly (NaN, infinities, bigint, functions, class instances, undefined in an array)
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return JSON.stringify(value)
  if (typeof value === 'number') return canonicalNumber(value)
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (isPlainObject(value)) return canonicalObject(value)
  throw new TypeError(`not a JSON value: ${typeof value}`)
}

/** SHA-256 (32 bytes) of the canonical text: what an idempotency key compares a repeated request by. */
export function requestHash(value: unknown): Buffer {
  return createHash('sha256').update(canonicalJson(value), 'utf8').digest()
}

function canonicalNumber(value: number): string {
  if (!Number.isFinite(value)) throw new TypeError(`not a JSON number: ${value}`)
  return JSON.stringify(value)
}

function canonicalObject(value: Record<string, unknown>): string {
  const members: string[] = []
  for (const key of Object.keys(value).sort()) {
    const member = value[key]
    if (member !== undefined) members.push(`${JSON.stringify(key)}:${canonicalJson(member)}`)
  }
  return `{${members.join(',')}}`
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** The one place where the wire's snake_case meets the client's camelCase. */

const CAMEL = new Map<string, string>()

/** Keys whose values are the user's own data, or keyed by it, and pass as they are. */
const OPAQUE = new Set(['payload', 'result', 'metadata', 'checkpoint', 'filter', 'by_status'])

/** Keys that were renamed beyond their case: a record is addressed by its `id`. */
const RENAMED: Readonly<Record<string, string>> = { task_id: 'id', key_id: 'id' }

/**
 * A record of the wire in the client's words: keys in camelCase, `…_at` as dates, nested records alike, and what belongs
 * to the user (payload, result, metadata, checkpoint) untouched.
 */
export function fromWire(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(fromWire)
  if (typeof value !== 'object' || value === null) return value
  const record: Record<string, unknown> = {}
  for (const [key, field] of Object.entries(value)) record[camelCase(key)] = fromWireField(key, field)
  return record
}

function fromWireField(key: string, field: unknown): unknown {
  if (OPAQUE.has(key)) return field
  if (typeof field === 'string') return isInstant(key) ? new Date(field) : field
  if (key === 'fire_times' && Array.isArray(field)) return field.map((each) => new Date(String(each)))
  return fromWire(field)
}

function isInstant(key: string): boolean {
  return key.endsWith('_at') || key.endsWith('fire_time') || key === 'at'
}

function camelCase(key: string): string {
  const known = CAMEL.get(key)
  if (known !== undefined) return known
  const camel = RENAMED[key] ?? key.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
  // Bounded: keys may come from data (queue depths by priority).
  if (CAMEL.size < 500) CAMEL.set(key, camel)
  return camel
}

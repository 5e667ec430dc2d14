/** Values that are the user's own: their keys are not ours to rename. */
const OPAQUE: ReadonlySet<string> = new Set(['payload', 'result', 'metadata'])

/** A record of the SDK as the API states it: `--json` prints snake_case keys and RFC 3339 instants, like the HTTP answer. */
export function toWireJson(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return value.map(toWireJson)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [wireKey(key), OPAQUE.has(key) ? field : toWireJson(field)]),
  )
}

function wireKey(key: string): string {
  if (!/^[a-z]/.test(key)) return key // a status among counts, not a name of ours
  return key === 'id' ? 'task_id' : key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

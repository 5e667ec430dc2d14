import type { Described } from './describe.js'

const samples: readonly (readonly [RegExp, string])[] = [
  [/^\^task-/, 'task-01m8m8g63ye0v964cp0nfyyggj'],
  [/^\^worker-/, 'worker-01m8m8fzk4f6ttv2ad5b1chh1v'],
  [/^\^wf-/, 'wf-01m8m8hw2te5a8nvdrk0q1m7cz'],
  [/^\^cron-/, 'cron-01m8m8jr9bfaqs41e5xw3v6t2p'],
  [/^\^bulk-/, 'bulk-01m8m8nb1qf5wv7x9z3c2d4e6g'],
  [/^\^\[0-9a-f\]\{16\}\$/, '5e884898da280471'],
  [/^\^key-/, 'key-01m8m8kd7xe3bty5rn8g2h4j6q'],
]

/** Which fields an example shows: of a request what must be there, of an answer everything. */
export type Extent = 'required' | 'all'

/** A value that fits the schema: its own example, else one made from its parts. */
export function exampleOf(described: object, extent: Extent): unknown {
  const schema: Described = { ...described }
  const [given] = schema.examples ?? []
  if (given !== undefined) return given
  if (schema.enum) return schema.enum[0]
  if (schema.anyOf) return exampleOf(schema.anyOf[0] ?? {}, extent)
  const type = typeof schema.type === 'string' ? schema.type : schema.type?.[0]
  switch (type) {
    case 'object':
      return exampleObject(schema, extent)
    case 'array':
      return schema.items ? [exampleOf(schema.items, extent)] : []
    case 'string':
      return exampleText(schema)
    case 'number':
    case 'integer':
      return Number(schema.default ?? schema.minimum ?? 0)
    case 'boolean':
      return false
    default:
      return null
  }
}

function exampleObject({ properties = {}, required = [] }: Described, extent: Extent): unknown {
  const shown = Object.entries(properties).filter(([name]) => extent === 'all' || required.includes(name))
  return Object.fromEntries(shown.map(([name, field]) => [name, exampleOf(field, extent)]))
}

function exampleText({ format, pattern }: Described): string {
  if (format === 'date-time') return '2026-04-04T09:00:00.000Z'
  return samples.find(([start]) => start.test(String(pattern)))?.[1] ?? 'text'
}

import { type IdPrefix, limits, namePattern, priorities, taskStatuses } from '@duly/domain'
import Type, { type TSchema, type TUnsafe } from 'typebox'

/** Any JSON value. It is kept as the text that the client wrote and comes back exactly. */
export type JsonValue = unknown

/** A schema with the static type given by hand, for what TypeBox has no builder for. */
export function typed<T>(schema: Record<string, unknown>): TUnsafe<T> {
  return Type.Unsafe<T>(schema)
}

/** `null` beside a scalar type, as one JSON Schema `type` list: its errors read better than those of a union. */
export function nullable<T>(type: 'string' | 'number' | 'integer' | 'object', schema: Record<string, unknown> = {}) {
  return typed<T | null>({ ...schema, type: [type, 'null'] })
}

/** An object that takes the listed keys and no others. */
export function closed<T extends Record<string, TSchema>>(properties: T, options: Record<string, unknown> = {}) {
  return Type.Object(properties, { additionalProperties: false, ...options })
}

export const seconds = (ms: number): number => ms / 1_000

/** No control characters: such texts stand in headers, logs and terminals. */
export const plainTextPattern = '^[^\\u0000-\\u001f\\u007f]*$'

export function plainText(maxLength: number, options: Record<string, unknown> = {}) {
  return Type.String({ minLength: 1, maxLength, pattern: plainTextPattern, ...options })
}

export function name(options: Record<string, unknown> = {}) {
  return Type.String({ minLength: 1, maxLength: limits.nameMaxChars, pattern: namePattern, ...options })
}

export function id(prefix: IdPrefix, options: Record<string, unknown> = {}) {
  return Type.String({ pattern: `^${prefix}-[0-7][0-9a-hjkmnp-tv-z]{25}$`, ...options })
}

const instantDoc = 'RFC 3339 with an offset, 1970 to 9999, to the millisecond'
const nullableName = { minLength: 1, maxLength: limits.nameMaxChars, pattern: namePattern }

export const Instant = Type.String({ format: 'date-time', description: `${instantDoc}; answered in UTC.` })
export const NullableInstant = nullable<string>('string', { format: 'date-time', description: instantDoc })
export const NullableId = nullable<string>('string')
export const NullableText = nullable<string>('string')
export const NullableName = nullable<string>('string', nullableName)
export const Count = Type.Integer({ minimum: 0 })

export const Json = typed<JsonValue>({ description: 'Any JSON value, kept and returned exactly as it was sent.' })

export const Status = Type.Enum(
  taskStatuses.map((status) => status.name),
  { description: taskStatuses.map((status) => `${status.name}: ${status.doc}`).join('\n') },
)

export const PriorityEnum = Type.Enum(
  priorities.map((priority) => priority.name),
  { description: 'Weighted 70 / 25 / 5 among the priorities that have work.' },
)

/** The values of metadata are scalars, so that they can be searched and shown. */
export type Metadata = Record<string, string | number | boolean>

export const MetadataSchema = typed<Metadata>({
  type: 'object',
  description: `At most ${limits.metadataMaxBytes} bytes. \`tenant_id\` names the tenant (absent: "default").`,
  properties: { tenant_id: name(), correlation_id: plainText(limits.nameMaxChars) },
  additionalProperties: { type: ['string', 'number', 'boolean'] },
  examples: [{ tenant_id: 'acme-corp', correlation_id: 'req-abc' }],
})

/** The shape of every list. `next_cursor` is null on the last page, and only there: a short or empty page may have one. */
export function list<T extends TSchema>(item: T) {
  return closed({ items: Type.Array(item), next_cursor: NullableText })
}

export const WaitSeconds = Type.Number({
  minimum: 0,
  maximum: limits.waitMaxSeconds,
  description: `How long the answer may be held, at most ${limits.waitMaxSeconds} s. Absent: 0.`,
})

/** What every list that is read page by page takes. */
export const PageQuery = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, description: 'Items of one page; absent: 50.' })),
  cursor: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 500,
      description: '`next_cursor` of the page before; absent: the first page.',
    }),
  ),
}

/** The same fields, any of which may be left out. */
export const optional = (fields: Readonly<Record<string, TSchema>>): Record<string, TSchema> =>
  Object.fromEntries(Object.entries(fields).map(([key, schema]) => [key, Type.Optional(schema)]))

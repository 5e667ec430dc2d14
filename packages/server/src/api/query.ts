import type { FieldError } from '@duly/domain'
import { UNREADABLE } from './query-text.js'
import { compileValidator } from './validate.js'

export type QueryReader = (query: Record<string, unknown>, errors: FieldError[]) => unknown

const DECIMAL = /^\d{1,15}(\.\d{1,9})?$/

interface QuerySchema {
  readonly properties?: Readonly<Record<string, { readonly type?: unknown }>>
}

const noParameters = { type: 'object', properties: {}, additionalProperties: false }

/**
 * Makes the reader of a route's query. Unknown and repeated parameters are refused, because a parameter that is silently
 * dropped (a misspelt filter, a cursor) gives a wrong answer that looks right. Numbers are plain decimals.
 */
export function queryReader(schema: object = noParameters): QueryReader {
  const validate = compileValidator(schema)
  const { properties = {} } = schema as QuerySchema
  const numeric = new Set(
    Object.keys(properties).filter((name) => ['number', 'integer'].includes(String(properties[name]?.type))),
  )
  return (query, errors) => {
    // Without a prototype, or a parameter called __proto__ would vanish in silence.
    const values: Record<string, unknown> = Object.create(null)
    for (const [name, value] of Object.entries(query)) {
      const fault = textFault(value)
      if (fault !== null) errors.push({ path: name, message: fault })
      if (typeof value === 'string')
        values[name] = numeric.has(name) && DECIMAL.test(String(value)) ? Number(value) : value
    }
    errors.push(...validate(values))
    return values
  }
}

/** What is wrong with a value before its schema is asked. */
function textFault(value: unknown): string | null {
  if (Array.isArray(value)) return 'is given more than once'
  if (value === UNREADABLE) return 'is not UTF-8 in percent-encoding'
  return typeof value === 'string' && value.includes('\0') ? 'must not hold NUL' : null
}

import type { FieldError } from '@duly/domain'
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
      if (Array.isArray(value)) errors.push({ path: name, message: 'is given more than once' })
      else values[name] = numeric.has(name) && DECIMAL.test(String(value)) ? Number(value) : value
    }
    errors.push(...validate(values))
    return values
  }
}

import { componentName } from './components.js'

/** The parts of a JSON Schema that are told to people. */
export interface Described {
  readonly [key: string]: unknown
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Described[]
  readonly items?: Described
  readonly format?: string
  readonly description?: string
  readonly examples?: readonly unknown[]
  readonly properties?: Readonly<Record<string, Described>>
  readonly required?: readonly string[]
}

/** One field of a body, or one parameter. */
export interface Field {
  /** From the body on: `tasks[].payload`. */
  readonly path: string
  readonly schema: Described
  readonly isRequired: boolean
}

/** How a page writes what a type is made of. */
export interface TypeWriter {
  /** The name of a schema, leading to where it is described. */
  component(name: string): string
  /** A value that can stand there. */
  value(text: string): string
}

/** A type in words: `string or null`, `list of integer`, the name of a schema. */
export function typeText(schema: Described, writer: TypeWriter): string {
  const name = componentName(schema)
  if (name !== undefined) return writer.component(name)
  if (schema.enum) return schema.enum.map((value) => writer.value(String(value))).join(', ')
  if (schema.anyOf) return schema.anyOf.map((each) => typeText(each, writer)).join(' or ')
  if (schema.items) return `list of ${typeText(schema.items, writer)}`
  if (schema.type === undefined) return 'any'
  const types = typeof schema.type === 'string' ? [schema.type] : schema.type
  return types.map((type) => (type === 'string' && schema.format === 'date-time' ? 'instant' : type)).join(' or ')
}

const bounds = [
  ['minimum', '≥ '],
  ['maximum', '≤ '],
  ['minLength', 'length ≥ '],
  ['maxLength', 'length ≤ '],
  ['minItems', 'items ≥ '],
  ['maxItems', 'items ≤ '],
] as const

/** The bounds of a value in words; of a list also those of its items. */
export function limitText(schema: Described): string {
  const own = schema.items && componentName(schema.items) === undefined ? { ...schema.items, ...schema } : schema
  return bounds.flatMap(([key, text]) => (own[key] === undefined ? [] : [`${text}${String(own[key])}`])).join(', ')
}

/** What a field means; a schema with a name says it where it is described. */
export function meaningOf(schema: Described): string {
  return componentName(schema) === undefined ? (schema.description ?? '') : ''
}

/** Every field of an object, those of objects without a name right after the field that holds them. */
export function fieldsOf(schema: Described, prefix = ''): readonly Field[] {
  const { properties = {}, required = [] } = schema
  return Object.entries(properties).flatMap(([name, field]) => {
    const path = `${prefix}${name}`
    const isRequired = required.includes(name)
    return [{ path, schema: field, isRequired }, ...insideOf(field, path)]
  })
}

function insideOf(schema: Described, path: string): readonly Field[] {
  if (componentName(schema) !== undefined) return []
  if (schema.properties) return fieldsOf(schema, `${path}.`)
  if (schema.items) return insideOf(schema.items, `${path}[]`)
  return (schema.anyOf ?? []).flatMap((each) => insideOf(each, path))
}

import { plainTextPattern } from '@duly/contract'
import { type FieldError, namePattern } from '@duly/domain'
import { Ajv2020, type ErrorObject, type FuncKeywordDefinition, type ValidateFunction } from 'ajv/dist/2020.js'
import { parseInstant } from './instant.js'
import { formatPath, joinPath } from './json-path.js'
import { unknownField } from './unknown-field.js'

type Steps = readonly (string | number)[]

/** As the schemas have it, on lists of texts. Ajv's own takes `__proto__` for the key of an object and overlooks it. */
const findRepeat: NonNullable<FuncKeywordDefinition['validate']> = (
  isAsked: boolean,
  items: readonly unknown[],
): boolean => {
  const places = new Map<unknown, number>()
  for (const [j, item] of items.entries()) {
    const i = places.get(item)
    if (isAsked && i !== undefined) {
      findRepeat.errors = [{ keyword: 'uniqueItems', params: { i, j } }]
      return false
    }
    places.set(item, j)
  }
  return true
}

const uniqueItems: FuncKeywordDefinition = {
  keyword: 'uniqueItems',
  type: 'array',
  schemaType: 'boolean',
  errors: true,
  validate: findRepeat,
}

/** No coercion: what has the wrong type is refused. */
function newAjv(allErrors: boolean): Ajv2020 {
  // verbose: errors know the schema that they come from
  const ajv = new Ajv2020({ allErrors, coerceTypes: false, strict: false, verbose: true })
  ajv.removeKeyword('uniqueItems').addKeyword(uniqueItems)
  ajv.addFormat('date-time', { type: 'string', validate: (text: string) => parseInstant(text) !== null })
  return ajv
}

/** Stops at the first error: decides valid or not, as cheaply as possible, whatever the document's size. */
const quickAjv = newAjv(false)
/** Gathers all errors, so that a client mends them in one go; used on documents that are known to be invalid. */
const fullAjv = newAjv(true)

/**
 * Up to this many UTF-16 units of JSON all errors of a document are gathered. A hostile one could have an error for every
 * two characters, so larger documents are looked at item by item, until enough are found.
 */
const FULL_REPORT_CHARS = 262_144
const ENOUGH_ERRORS = 100

/** Lists what is wrong with a value, by path. `chars` is the length of its JSON. */
export type Validator = (value: unknown, chars?: number) => FieldError[]

interface Check {
  readonly quick: ValidateFunction
  readonly full: ValidateFunction
}

interface ListCheck extends Check {
  readonly key: string
}

const compiled = new WeakMap<object, Validator>()

/** The validator of a schema of the contract; each schema is compiled once in a process. */
export function compileValidator(schema: object): Validator {
  const known = compiled.get(schema)
  if (known) return known
  const validator = newValidator(schema)
  compiled.set(schema, validator)
  return validator
}

function newValidator(schema: object): Validator {
  const check = compile(schema)
  const lists = listsOf(schema)
  return (value, chars = 0) => {
    if (check.quick(value)) return []
    if (chars <= FULL_REPORT_CHARS) return report(check.full, value)
    const inItems = lists.flatMap((list) => itemErrors(list, value))
    return inItems.length > 0 ? inItems : toFieldErrors(check.quick.errors, value)
  }
}

const compile = (schema: object): Check => ({ quick: quickAjv.compile(schema), full: fullAjv.compile(schema) })

function report(validate: ValidateFunction, value: unknown, base: Steps = []): FieldError[] {
  validate(value)
  return toFieldErrors(validate.errors, value, base)
}

/** The lists of objects right below a schema: `tasks`, `reports`, … */
function listsOf(schema: object): ListCheck[] {
  const { properties = {} } = schema as {
    readonly properties?: Record<string, { readonly items?: { type?: unknown } }>
  }
  return Object.entries(properties).flatMap(([key, { items }]) =>
    items?.type === 'object' ? [{ key, ...compile(items) }] : [],
  )
}

function itemErrors({ key, quick, full }: ListCheck, value: unknown): FieldError[] {
  const list = (value as Record<string, unknown> | null)?.[key]
  const errors: FieldError[] = []
  for (const [index, item] of Array.isArray(list) ? list.entries() : []) {
    if (quick(item)) continue
    const isSmall = JSON.stringify(item).length <= FULL_REPORT_CHARS / ENOUGH_ERRORS
    const found = isSmall ? report(full, item, [key, index]) : toFieldErrors(quick.errors, item, [key, index])
    for (const error of found) errors.push(error)
    if (errors.length >= ENOUGH_ERRORS) break
  }
  return errors
}

function toFieldErrors(errors: ErrorObject[] | null | undefined, value: unknown, base: Steps = []): FieldError[] {
  return (errors ?? []).map((error, place) =>
    toFieldError(error, { path: formatPath([...base, ...stepsOf(error.instancePath, value)]), place }),
  )
}

/** @param at.place its number among the errors: those beyond {@link ENOUGH_ERRORS} nobody reads, and near names take a search */
function toFieldError(
  { keyword, params, message, parentSchema }: ErrorObject,
  { path, place }: { readonly path: string; readonly place: number },
): FieldError {
  const details = params as Record<string, unknown>
  if (keyword === 'required') return { path: joinPath(path, String(details.missingProperty)), message: 'is required' }
  if (keyword === 'additionalProperties') {
    const key = String(details.additionalProperty)
    const told = unknownField(key, place < ENOUGH_ERRORS ? parentSchema : null)
    return { path: joinPath(path, key.slice(0, 100)), message: told }
  }
  return { path, message: messageOf(keyword, details, message ?? 'is invalid') }
}

/** Turns a JSON pointer into the steps of a path; whether a step is an index is told by the document itself. */
function stepsOf(pointer: string, document: unknown): (string | number)[] {
  let value = document
  return pointer
    .split('/')
    .slice(1)
    .map((text) => {
      const key = text.replaceAll('~1', '/').replaceAll('~0', '~')
      const isIndex = Array.isArray(value)
      value = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined
      return isIndex ? Number(key) : key
    })
}

function messageOf(keyword: string, params: Record<string, unknown>, fallback: string): string {
  if (keyword === 'enum') return `must be one of ${(params.allowedValues as unknown[]).map(String).join(', ')}`
  if (keyword === 'type') return `must be ${[params.type].flat().map(typeName).join(' or ')}`
  if (keyword === 'format')
    return 'must be an RFC 3339 instant with an offset, such as 2026-04-03T09:00:00Z, a real date from 1970 to 9999'
  if (keyword === 'pattern') return patternMessage(String(params.pattern))
  if (keyword === 'uniqueItems') return `must not repeat items: ${String(params.j)} equals ${String(params.i)}`
  return boundMessage(keyword, Number(params.limit)) ?? fallback.replace('must NOT', 'must not')
}

/** What JSON calls its types, in words for people. */
const typeNames: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
}

const typeName = (type: unknown): string => typeNames[String(type)] ?? String(type)

function boundMessage(keyword: string, limit: number): string | undefined {
  if (keyword === 'minimum') return `must be at least ${limit}`
  if (keyword === 'maximum') return `must be at most ${limit}`
  const counted = /^(min|max)(Length|Items|Properties)$/.exec(keyword)
  if (counted === null) return undefined
  if (counted[1] === 'min' && limit === 1) return 'must not be empty'
  const what = { Length: 'characters', Items: 'items', Properties: 'keys' }[counted[2] as 'Length']
  return `must have at ${counted[1] === 'min' ? 'least' : 'most'} ${limit} ${what}`
}

function patternMessage(pattern: string): string {
  if (pattern === namePattern) return 'must be a name: 1 to 128 of A-Z a-z 0-9 . _ - : /'
  if (pattern === plainTextPattern) return 'must not hold control characters'
  const prefix = /^\^([a-z]+)-\[0-7\]/.exec(pattern)?.[1]
  if (prefix !== undefined) return `must be an id of the form ${prefix}-… with 26 characters after the hyphen`
  return `must match ${pattern}`
}

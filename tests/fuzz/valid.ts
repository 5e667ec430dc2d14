import fc from 'fast-check'
import { honest } from './hostile.js'
import { isOpaque, type Schema, typesOf } from './operations.js'
import { leaf, type Member, type Node } from './tree.js'

type Resolve = (schema: Schema) => Schema

/** Names that are used over and over, so that requests meet each other; among them some that break out of careless code. */
const names = ['default', 'fuzz', 'fuzz', 'a', 'a:b', 'b:c', '..', 'x/y', '-', 'constructor', '__proto__']
const idPattern = /^\^[a-z]+-/

/** What the schema takes but no test has the time for. */
const shortWaits: Schema = { type: 'number', enum: [0, 0.001, 0.02] }
const replaced: Readonly<Record<string, Schema>> = {
  wait_seconds: shortWaits,
  // more than a schema can say of them
  cron_expression: { type: 'string', enum: ['* * * * *', '0 9 * * 1-5', '*/5 0 12 ? * MON#2', '@yearly', '0 2 L * *'] },
  timezone: { type: 'string', enum: ['UTC', 'America/New_York', 'Pacific/Apia', 'Europe/Berlin'] },
}

/** Bodies that the schema takes, as trees. */
export function validOf(schema: Schema, resolve: Resolve): fc.Arbitrary<Node> {
  const found = resolve(schema)
  if (found.anyOf) return fc.oneof(...found.anyOf.map((one) => validOf(one, resolve)))
  if (found.enum) return fc.constantFrom(...found.enum).map((value) => leaf(JSON.stringify(value), found))
  if (found.const !== undefined) return fc.constant(leaf(JSON.stringify(found.const), found))
  if (isOpaque(found)) return fc.oneof(fc.json(), fc.constantFrom(...honest)).map((text) => leaf(text, found))
  return fc.oneof(...typesOf(found).map((type) => validOfType(type, found, resolve)))
}

function validOfType(type: string, schema: Schema, resolve: Resolve): fc.Arbitrary<Node> {
  if (type === 'object') return objects(schema, resolve)
  if (type === 'array') return lists(schema, resolve)
  return scalars(type, schema).map((value) => leaf(JSON.stringify(value), schema))
}

/** Strings, numbers, booleans and null of a schema, as JavaScript values. */
export function scalars(type: string, schema: Schema): fc.Arbitrary<unknown> {
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if (type === 'string') return strings(schema)
  if (type === 'integer') return integers(schema)
  if (type === 'number') return numbers(schema)
  return type === 'boolean' ? fc.boolean() : fc.constant(null)
}

function objects(schema: Schema, resolve: Resolve): fc.Arbitrary<Node> {
  const { properties = {} } = schema
  const members = Object.entries(properties).map(([key, property]): fc.Arbitrary<Member | null> => {
    const member = validOf(replaced[key] ?? property, resolve).map((value) => ({ key: JSON.stringify(key), value }))
    return isRequired(key, schema) ? member : fc.option(member, { freq: 2 })
  })
  return fc
    .tuple(fc.tuple(...members), extras(schema, resolve))
    .map(([listed, more]) => [...oneOfEach(listed.filter((member) => member !== null)), ...more])
    .filter((found) => found.length >= (schema.minProperties ?? 0))
    .map((found) => ({ kind: 'object', schema, members: found }))
}

/** Of a schedule, one of two fields is required, but of an edit, which takes what there is. */
function isRequired(key: string, { required = [], minProperties }: Schema): boolean {
  return required.includes(key) || (key === 'cron_expression' && minProperties === undefined)
}

/** Fields beside which another one may not stand. */
const excluded: ReadonlyMap<string, string> = new Map([
  ['"every_seconds"', '"cron_expression"'],
  ['"waits_for_adder"', '"dependencies"'],
])

function oneOfEach(members: readonly Member[]): readonly Member[] {
  const out = new Set(members.map(({ key }) => excluded.get(key)))
  return members.filter(({ key }) => !out.has(key))
}

/** Members beyond the listed ones, where a schema takes them. */
function extras({ additionalProperties, properties = {} }: Schema, resolve: Resolve): fc.Arbitrary<Member[]> {
  if (typeof additionalProperties !== 'object') return fc.constant([])
  const value = validOf(additionalProperties, resolve)
  const key = fc.oneof(fc.constantFrom('__proto__', 'constructor', 'toString', '', ' ', 'é', 'a.b'), texts(20))
  return fc
    .uniqueArray(fc.tuple(key, value), { maxLength: 3, selector: ([name]) => name })
    .map((found) =>
      found
        .filter(([name]) => !Object.hasOwn(properties, name))
        .map(([name, node]) => ({ key: JSON.stringify(name), value: node })),
    )
}

function lists(schema: Schema, resolve: Resolve): fc.Arbitrary<Node> {
  const minLength = schema.minItems ?? 0
  const options = { minLength, maxLength: Math.min(schema.maxItems ?? 3, Math.max(3, minLength)) }
  const item = validOf(schema.items ?? {}, resolve)
  const items = schema.uniqueItems
    ? fc.uniqueArray(item, { ...options, selector: (node) => (node.kind === 'leaf' ? node.text : node) })
    : fc.array(item, options)
  return items.map((found) => ({ kind: 'list', schema, items: found }))
}

function strings(schema: Schema): fc.Arbitrary<string> {
  const { pattern, minLength = 0, maxLength = 40 } = schema
  if (schema.format === 'date-time') return instants
  const fits = (text: string): boolean =>
    text.length >= minLength && text.length <= maxLength && (pattern === undefined || new RegExp(pattern).test(text))
  if (pattern === undefined) return texts(maxLength).filter(fits)
  if (idPattern.test(pattern)) return fc.stringMatching(new RegExp(pattern))
  if (fits('a b!')) return texts(maxLength).filter(fits)
  const any = fc.stringMatching(new RegExp(pattern)).filter(fits)
  const known = names.filter(fits)
  if (known.length === 0) return any
  return fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...known) }, { weight: 1, arbitrary: any })
}

const odd = [
  '\\u0000',
  '<script>alert(1)</script>',
  "'; drop table tasks; --",
  '%00',
  '\u2028',
  '\ufeff',
  '😀',
  'a'.repeat(64),
]

/** Any text of whole characters but NUL, at most so long. */
function texts(maxLength: number): fc.Arbitrary<string> {
  const text = fc.string({ unit: 'binary', maxLength: Math.min(maxLength, 40) })
  return fc
    .oneof({ weight: 3, arbitrary: text }, { weight: 1, arbitrary: fc.constantFrom(...odd) })
    .filter((found) => found.length <= maxLength && !found.includes('\0'))
}

function integers({ minimum = -(2 ** 31), maximum = 2 ** 31 - 1 }: Schema): fc.Arbitrary<number> {
  return fc.oneof(fc.integer({ min: minimum, max: maximum }), fc.constantFrom(minimum, maximum))
}

function numbers({ minimum = -1e15, maximum = 1e15 }: Schema): fc.Arbitrary<number> {
  const any = fc.double({ min: minimum, max: maximum, noNaN: true })
  const short = fc.integer({ min: Math.ceil(minimum), max: Math.floor(Math.min(maximum, 100)) })
  return fc.oneof(any, short, fc.constantFrom(minimum, maximum))
}

const lastMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999)
const dayMs = 86_400_000

/** RFC 3339 in its spellings, from 1970 to 9999. */
const instants: fc.Arbitrary<string> = fc
  .tuple(
    fc.oneof(fc.integer({ min: 0, max: lastMs }), fc.constantFrom(0, lastMs, Date.UTC(2028, 1, 29)), nearNow()),
    fc.constantFrom('Z', 'z', '+00:00', '-00:00', '+05:30', '-11:00'),
    fc.constantFrom(0, 1, 3, 9),
  )
  .map(([ms, offset, digits]) => spell(ms, offset, digits))

function nearNow(): fc.Arbitrary<number> {
  const now = Date.now()
  return fc.integer({ min: now - dayMs, max: now + dayMs })
}

function spell(ms: number, offset: string, digits: number): string {
  const inside = Math.min(Math.max(ms, dayMs), lastMs - dayMs)
  const [, sign, hours, minutes] = /^([+-])(\d\d):(\d\d)$/.exec(offset) ?? []
  const shift = sign === undefined ? 0 : (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes))
  const local = new Date((shift === 0 ? ms : inside) + shift * 60_000).toISOString()
  const fraction = `${local.slice(20, 23)}987654`.slice(0, digits)
  return `${local.slice(0, 19)}${digits === 0 ? '' : `.${fraction}`}${offset}`
}

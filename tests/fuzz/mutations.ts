import fc from 'fast-check'
import { type Call, validCalls } from './calls.js'
import { type Operation, type Parameter, type Schema, typesOf } from './operations.js'
import { keyOf, leaf, type Node, type ObjectNode, pathOf, placesOf } from './tree.js'
import type { World } from './world.js'

/** A call that the document says is invalid, and the paths of what is wrong with it. */
export interface InvalidCall {
  readonly call: Call
  readonly places: readonly string[]
}

/** One way to make a body invalid. */
interface Mutation {
  /** Where the error stands. */
  readonly path: string
  /** What is changed: two mutations of one value, or of a value and its inside, do not go together. */
  readonly changed: string
  apply(): void
}

/** Larger lists are not built to break a limit. */
const LARGEST_LIST = 1_100

/** Whether the document gives any way to call an operation wrongly. */
export function canBeWrong({ body, parameters }: Operation): boolean {
  return body !== null || wrongParameter(parameters, 0) !== null
}

export function invalidCalls(world: World, operation: Operation): fc.Arbitrary<InvalidCall> {
  const valid = validCalls(world, operation)
  const picks = fc.array(fc.nat(), { minLength: 1, maxLength: 4 })
  return fc
    .tuple(valid, picks)
    .map(([call, numbers]) => broken(world, call, numbers))
    .filter(({ places }) => places.length > 0)
}

function broken(world: World, call: Call, numbers: readonly number[]): InvalidCall {
  let body = call.body === null ? null : structuredClone(call.body)
  const places: string[] = []
  const changed: string[] = []
  const replace = (node: Node): void => {
    body = node
  }
  const [first = 0, ...more] = numbers
  const values = new Map(call.values)
  const wrong = wrongParameter(call.operation.parameters, first)
  if (wrong !== null && (body === null || first % 3 === 0)) {
    values.set(wrong.parameter, wrong.value)
    places.push(wrong.parameter.in === 'header' ? canonical(wrong.parameter.name) : wrong.parameter.name)
  }
  for (const number of body === null ? [] : [first, ...more]) {
    const open = mutationsOf(body as Node, replace, world.resolve).filter(
      (mutation) => !changed.some((path) => touches(path, mutation.changed) || touches(mutation.changed, path)),
    )
    const mutation = open[number % Math.max(1, open.length)]
    if (mutation === undefined) break
    mutation.apply()
    changed.push(mutation.changed)
    places.push(mutation.path)
  }
  return { call: { ...call, values, body, ...(wrong === null ? {} : { exact: wrong.parameter }) }, places }
}

const touches = (outer: string, inner: string): boolean =>
  inner === outer || outer === '' || inner.startsWith(`${outer}.`) || inner.startsWith(`${outer}[`)

const canonical = (name: string): string => name.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase())

/** A parameter with a value that it does not take; null: it takes everything. */
function wrongParameter(
  parameters: readonly Parameter[],
  pick: number,
): { parameter: Parameter; value: string } | null {
  const wrong = parameters.flatMap((parameter) => {
    const { schema, in: place } = parameter
    if (place === 'header')
      return (schema.maxLength ?? 0) > 0 ? [{ parameter, value: 'x'.repeat((schema.maxLength ?? 0) + 1) }] : []
    return badTexts(schema).map((value) => ({ parameter, value }))
  })
  return wrong.length === 0 ? null : (wrong[pick % wrong.length] ?? null)
}

function badTexts(schema: Schema): string[] {
  const [type] = typesOf(schema)
  if (type === 'integer' || type === 'number') {
    const beyond = [
      schema.minimum === undefined ? [] : [schema.minimum - 1],
      schema.maximum === undefined ? [] : [schema.maximum + 1],
    ]
    return ['abc', '', '0x10', '1e1', 'NaN', ' 1', ...beyond.flat().map(String), ...(type === 'integer' ? ['1.5'] : [])]
  }
  if (type === 'boolean') return ['yes', '', '1']
  if (schema.enum) return ['no-such-value']
  if (schema.format === 'date-time') return ['2026-02-31T00:00:00Z', '2026-08-01 10:00', 'now']
  const tooLong = schema.maxLength === undefined || schema.maxLength > 300 ? [] : ['x'.repeat(schema.maxLength + 1)]
  if (schema.pattern === undefined) return tooLong
  const odd = ['a b', 'é', 'a\u0000', 'task-8zzzzzzzzzzzzzzzzzzzzzzzzz', 'TASK-00000000000000000000000000']
  return [...tooLong, ...odd.filter((text) => !new RegExp(schema.pattern ?? '').test(text))]
}

/** Everything that can be done to a body to make it invalid. */
function mutationsOf(root: Node, replace: (node: Node) => void, resolve: (schema: Schema) => Schema): Mutation[] {
  return placesOf(root, replace).flatMap(({ path, node, put }) => {
    const schema = resolve(node.schema)
    const replacements = badValues(schema, node).map(
      (bad): Mutation => ({ path, changed: path, apply: () => put(bad) }),
    )
    return node.kind === 'object' ? [...replacements, ...objectMutations(node, schema, path)] : replacements
  })
}

function objectMutations(node: ObjectNode, schema: Schema, path: string): Mutation[] {
  const removals = (schema.required ?? []).map((key): Mutation => {
    const at = pathOf(path, key)
    const remove = (): void => {
      const index = node.members.findIndex((member) => keyOf(member) === key)
      if (index >= 0) node.members.splice(index, 1)
    }
    return { path: at, changed: at, apply: remove }
  })
  if (schema.additionalProperties !== false) return removals
  const strangers = ['extra', '__proto__', 'constructor', '', 'task-type', 'TASK_TYPE', 'a.b'].map((key): Mutation => {
    const at = pathOf(path, key)
    return {
      path: at,
      changed: at,
      apply: () => void node.members.push({ key: JSON.stringify(key), value: leaf('1') }),
    }
  })
  return [...removals, ...strangers]
}

const samples: Readonly<Record<string, string>> = {
  string: '"text"',
  integer: '1',
  number: '1.5',
  boolean: 'true',
  null: 'null',
  object: '{}',
  array: '[]',
}

/** Values that a schema does not take. */
function badValues(schema: Schema, node: Node): Node[] {
  const types = schema.enum ? [] : typesOf(schema)
  const isNumber = types.includes('number') || types.includes('integer')
  const texts: string[] = []
  if (types.length > 0) {
    const wrong = Object.keys(samples).filter(
      (type) => !types.includes(type) && !(isNumber && /^(integer|number)$/.test(type)),
    )
    texts.push(...wrong.map((type) => samples[type] ?? ''))
  }
  if (schema.enum && !isShortWait(schema)) texts.push('"no-such-value"', '7', 'null')
  if (isNumber) texts.push(...badNumbers(schema, types))
  if (types.includes('string')) texts.push(...badStrings(schema))
  return [...texts.map((text) => leaf(text, schema)), ...longLists(schema, node)]
}

/** A stand-in of ours for a number with bounds. */
const isShortWait = (schema: Schema): boolean => schema.type === 'number' && schema.enum !== undefined

function badNumbers({ minimum, maximum }: Schema, types: readonly string[]): string[] {
  return [
    ...(minimum === undefined ? [] : [String(minimum - 1), '-1e300']),
    ...(maximum === undefined ? [] : [String(maximum + 1), '1e300']),
    ...(types.includes('number') ? [] : ['0.5']),
  ]
}

function badStrings({ pattern, format, minLength, maxLength }: Schema): string[] {
  const tooLong = maxLength === undefined ? [] : ['x'.repeat(maxLength + 1)]
  const tooShort = minLength === undefined || minLength === 0 ? [] : ['']
  const odd = ['a b', 'é', '\u0001', 'a\u007f', '../..', 'x'.repeat(30), 'task-8zzzzzzzzzzzzzzzzzzzzzzzzz', 'default\n']
  const mismatched = pattern === undefined ? [] : odd.filter((text) => !new RegExp(pattern).test(text))
  return [...tooLong, ...tooShort, ...mismatched, ...(format === 'date-time' ? badInstants : [])].map((text) =>
    JSON.stringify(text),
  )
}

const badInstants = [
  ...['', 'now', 'infinity', '2026-02-31T00:00:00Z', '2026-06-31', '2026-08-01 10:00', '2026-08-01T10:00:00+25:00'],
  ...['2026-12-31T23:59:60Z', '1969-12-31T23:59:59Z', '10000-01-01T00:00:00Z', '2026-08-01T10:00:00', '1784000000'],
]

function longLists(schema: Schema, node: Node): Node[] {
  if (node.kind !== 'list') return []
  const [first] = node.items
  const lists: Node[] = []
  if ((schema.minItems ?? 0) > 0) lists.push({ ...node, items: [] })
  if (first === undefined) return lists
  const { maxItems = Number.POSITIVE_INFINITY } = schema
  if (maxItems < LARGEST_LIST) lists.push({ ...node, items: Array<Node>(maxItems + 1).fill(first) })
  if (schema.uniqueItems) lists.push({ ...node, items: [first, first] })
  return lists
}

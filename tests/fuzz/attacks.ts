import { type Call, draw, requestOf, type Verdict, validCalls } from './calls.js'
import { type Forbidden, forbiddenBodies, forbiddenTexts, forbiddenValues, honest } from './hostile.js'
import { type Operation, typesOf } from './operations.js'
import { problemOf } from './oracle.js'
import { roundTripFaults } from './round-trip.js'
import { isRule } from './rules.js'
import { leaf, type Node, type ObjectNode, type Place, placesOf, write } from './tree.js'
import type { World } from './world.js'

/** A valid call with something hostile at one place of its body. */
export interface BodyCase {
  readonly call: Call
  readonly path: string
  readonly name: string
  /** What the answer must be: refused with its place named, refused, taken because it is cleaned, or either way exact. */
  readonly wanted: 'refused here' | 'refused' | 'taken' | 'exact'
  /** It stands where the schema takes any key, so that only the scanner looks at it. */
  readonly isOpen?: boolean
  /** Puts it into a copy of the body. */
  readonly put: (root: Node, replace: (node: Node) => void) => void
}

/** Texts of handlers: to refuse one would lose the outcome that it explains. */
const cleaned = /^reports\[\d+\]\.error\.(class|message|stack)$|^progress\[\d+\]\.note$|^logs\[\d+\]\.message$/
export const isCleaned = (path: string): boolean => cleaned.test(path)

const SAMPLES = 30

/** For each place that any of some bodies has, one body that has it; items of a list are one place. */
function bodiesByPlace(world: World, operation: Operation): ReadonlyMap<string, { call: Call; place: Place }> {
  const found = new Map<string, { call: Call; place: Place }>()
  if (operation.body === null) return found
  for (const call of draw(validCalls(world, operation), SAMPLES, `places of ${operation.id}`)) {
    if (call.body === null) continue
    for (const place of placesOf(call.body, () => {})) {
      const kind = place.path.replaceAll(/\[\d+\]/g, '[]').replace(/(metadata)[.[].*$/, '$1.*')
      if (!found.has(kind)) found.set(kind, { call, place })
    }
  }
  return found
}

export function bodyCases(world: World, operation: Operation): BodyCase[] {
  return [...bodiesByPlace(world, operation).values()].flatMap(({ call, place }) => {
    const at = (text: string | Buffer) => (root: Node, replace: (node: Node) => void) =>
      placesOf(root, replace)
        .find(({ path }) => path === place.path)
        ?.put(leaf(text, place.node.schema))
    const base = { call, path: place.path }
    const isText = isCleaned(place.path) && typesOf(place.node.schema).includes('string')
    return [
      ...forbiddenTexts.map((one): BodyCase => ({ ...base, ...wantedOf(one, isText), put: at(one.text) })),
      // A list without its only item is a list.
      ...forbiddenValues
        .filter(({ text }) => text !== '' || !place.path.endsWith(']'))
        .map((one): BodyCase => ({ ...base, ...wantedOf(one, false), put: at(one.text) })),
      ...honest.map((text): BodyCase => ({ ...base, name: text.slice(0, 60), wanted: 'exact', put: at(text) })),
    ]
  })
}

function wantedOf({ name, isPlaced }: Forbidden, isText: boolean): Pick<BodyCase, 'name' | 'wanted'> {
  if (isText) return { name, wanted: 'taken' }
  return { name, wanted: isPlaced ? 'refused here' : 'refused' }
}

const forbiddenKeys = ['"\\u0000"', '"a\\u0000"', '"\\ud800"', '"\\udc00\\ud800"']
const oddKeys = [
  '"__proto__"',
  '"constructor"',
  '"prototype"',
  '"toString"',
  '"hasOwnProperty"',
  '"length"',
  '""',
  '" "',
  '"a.b"',
  '"\\\\u0000"',
  '"\ufeff"',
]

/** Objects with a member more: under a key that no body may hold, under one that it has already, or under an odd one. */
export function keyCases(world: World, operation: Operation): BodyCase[] {
  return [...bodiesByPlace(world, operation).values()].flatMap(({ call, place }) => {
    if (place.node.kind !== 'object') return []
    const add = (key: string) => (root: Node, replace: (node: Node) => void) => {
      const target = placesOf(root, replace).find(({ path }) => path === place.path)?.node as ObjectNode
      target.members.push({ key, value: leaf('"x"') })
    }
    const isOpen = world.resolve(place.node.schema).additionalProperties !== false
    const base = { call, path: place.path, isOpen }
    const taken = place.node.members.map(({ key }) => key)
    const repeated = [...taken, ...taken.map(escapedKey)]
    return [
      ...[...forbiddenKeys, ...repeated].map(
        (key): BodyCase => ({ ...base, name: key, wanted: 'refused here', put: add(key) }),
      ),
      ...oddKeys
        .filter((key) => !taken.includes(key))
        .map((key): BodyCase => ({ ...base, name: key, wanted: 'exact', put: add(key) })),
    ]
  })
}

/** The same key, every character of it as an escape. */
const escapedKey = (key: string): string => {
  const text = JSON.parse(key) as string
  const units = Array.from({ length: text.length }, (_, at) => text.charCodeAt(at).toString(16).padStart(4, '0'))
  return `"${units.map((unit) => `\\u${unit}`).join('')}"`
}

/** Sends a case, and says what is wrong with its answer. */
export async function judgeBody(world: World, one: BodyCase): Promise<Verdict> {
  let body = structuredClone(one.call.body) as Node
  world.fill(body)
  one.put(body, (node) => {
    body = node
  })
  const { operation } = one.call
  const request = { ...requestOf(world, one.call), body: write(body) }
  const answer = await world.client.send(request)
  const faults = world.oracle.faults(operation, answer)
  if (faults.length > 0) return { request, answer, faults }
  const errors = answer.status === 400 ? (problemOf(answer).errors ?? []) : []
  const isHere = errors.some(({ path }) => path.startsWith(one.path))
  if (one.wanted === 'refused' || one.wanted === 'refused here') {
    if (answer.status !== 400) faults.push(`${one.name} at "${one.path}" is taken`)
    else if (errors.length === 0 || (one.wanted === 'refused here' && !isHere))
      faults.push(`"${one.path}" is not named`)
  } else if (answer.status === 400 && !errors.some(isRule) && (one.wanted === 'taken' || !isHere)) {
    faults.push(`"${one.path}" is not what was refused`)
  }
  const path = request.path.split('?', 1)[0] ?? ''
  if (one.wanted === 'exact') faults.push(...(await roundTripFaults(world, { operation, path, body }, answer)))
  return { request, answer, faults: faults.map((fault) => `${one.name}: ${fault}`) }
}

export interface BrokenBody {
  readonly call: Call
  readonly name: string
  readonly body: Buffer
}

export function brokenBodies(world: World, operation: Operation): BrokenBody[] {
  if (operation.body === null) return []
  const [call] = draw(validCalls(world, operation), 1, `broken ${operation.id}`)
  if (call === undefined) return []
  const scalars = ['null', '[]', '"text"', '0', 'true'].map((text) => ({ name: text, text }))
  return [...forbiddenBodies, ...scalars].map(({ name, text }) => ({ call, name, body: Buffer.from(text as string) }))
}

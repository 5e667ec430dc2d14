import fc from 'fast-check'
import { vi } from 'vitest'
import { seed } from '../chaos/load/random.js'
import type { Answer, Request } from './client.js'
import { type Operation, type Parameter, typesOf } from './operations.js'
import { type Node, write } from './tree.js'
import { scalars, validOf } from './valid.js'
import type { World } from './world.js'

/** A call before it is written: values by parameter (undefined: left out) and the body. */
export interface Call {
  readonly operation: Operation
  readonly values: ReadonlyMap<Parameter, string | undefined>
  readonly body: Node | null
  /** Sent as it is, where for others something that exists may stand. */
  readonly exact?: Parameter
}

const isLong = process.env.DULY_LONG === '1'
vi.setConfig({ testTimeout: isLong ? 900_000 : 240_000 })

/** How many cases a test draws: ten times as many in the long run. */
export const runs = (count: number): number => (isLong ? count * 10 : count)

/** Calls that the document says are valid. */
export function validCalls(world: World, operation: Operation): fc.Arbitrary<Call> {
  const values = operation.parameters.map((parameter) => {
    const value = scalars(typesOf(parameter.schema)[0] ?? 'string', withShortWait(parameter)).map(textOf)
    return parameter.required ? value : fc.option(value, { nil: undefined, freq: 2 })
  })
  const body = operation.body === null ? fc.constant(null) : validOf(operation.body, world.resolve)
  return fc.tuple(fc.tuple(...values), body).map(([texts, tree]) => ({
    operation,
    values: new Map(operation.parameters.map((parameter, index) => [parameter, texts[index]])),
    body: tree,
  }))
}

/** The same calls for the same seed. */
export function draw<T>(arbitrary: fc.Arbitrary<T>, numRuns: number, actor: string): T[] {
  const hash = [...actor].reduce((sum, character) => Math.imul(sum, 31) + character.charCodeAt(0), seed)
  return fc.sample(arbitrary, { numRuns, seed: hash })
}

/** Calls that are held for long would take the time of all others: short waits, and no log that is followed. */
function withShortWait({ name, schema }: Parameter) {
  if (name === 'wait_seconds') return { enum: [0, 0.01] }
  return name === 'follow' ? { enum: ['false'] } : schema
}

/** Numbers of a query are plain decimals; a header has no characters beyond Latin-1, so others are left out of it. */
function textOf(value: unknown): string {
  if (typeof value !== 'number') return String(value)
  return Number.isInteger(value) ? String(value) : value.toFixed(9).replace(/\.?0+$/, '')
}

/** Writes a call. Of path parameters most are replaced by something that exists. */
export function requestOf(world: World, { operation, values, body, exact }: Call): Request {
  let path = operation.path
  const query: string[] = []
  const headers: Record<string, string> = {}
  for (const [parameter, value] of values) {
    const { name, in: place } = parameter
    if (value === undefined) continue
    const text = place === 'path' && parameter !== exact ? (existing(world, name) ?? value) : value
    if (place === 'path') path = path.replace(`{${name}}`, () => encodeURIComponent(text))
    else if (place === 'query')
      query.push(`${encodeURIComponent(name)}=${encodeURIComponent(cursorOr(world, parameter, text))}`)
    else if (/^[\x20-\x7e]*$/.test(value)) headers[name] = value
  }
  if (query.length > 0) path += `?${query.join('&')}`
  return { method: operation.method, path, headers, ...(body === null ? {} : { body: write(body) }) }
}

/** Half of the cursors are some that lists gave. */
const cursorOr = (world: World, { name }: Parameter, text: string): string =>
  (name === 'cursor' && world.random.next() < 0.5 ? world.known(name) : undefined) ?? text

const existing = (world: World, name: string): string | undefined =>
  world.random.next() < 0.9 ? world.known(name) : undefined

/** What a test finds wrong with the answer to one of its cases. */
export interface Verdict {
  readonly request: Request
  readonly answer: Answer
  readonly faults: readonly string[]
}

const AT_ONCE = 8
const CHUNK = 40
const SHOWN = 5

/** Sends all cases, several at a time, and fails with the first of them that were answered wrongly. */
export async function judgeAll<T>(
  world: World,
  cases: readonly T[],
  judge: (one: T) => Promise<Verdict>,
): Promise<void> {
  const failures: string[] = []
  for (let from = 0; from < cases.length && failures.length < SHOWN; from += CHUNK) {
    await world.restock()
    const left = cases.slice(from, from + CHUNK)
    const work = async (): Promise<void> => {
      for (let one = left.shift(); one !== undefined; one = left.shift()) {
        const { request, answer, faults } = await judge(one)
        if (endsSession(request, answer)) world.loseWorker()
        if (faults.length > 0) failures.push(`${described(request, answer)}\n  ${faults.join('\n  ')}`)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
  }
  if (failures.length > 0) throw new Error(`DULY_SEED=${seed}\n\n${failures.slice(0, SHOWN).join('\n\n')}`)
}

/** After a call that closed the session of the world's worker, or drained it, the next ones need another. */
function endsSession({ method, path }: Request, answer: Answer): boolean {
  if (answer.status === 409) return answer.bytes.includes('session_lost')
  return answer.status < 300 && /\/workers\/[^/]+(\/drain)?$/.test(path) && method !== 'GET'
}

function described({ method, path, headers = {}, body }: Request, answer: Answer): string {
  const sent = Object.entries(headers).map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
  const head = [`${method} ${path.slice(0, 300)}`, ...sent].join('\n  ')
  return `${head}\n  ${(body ?? '').toString().slice(0, 1_500)}\n  → ${answer.status} ${answer.bytes.toString().slice(0, 600)}`
}

import { expect } from 'vitest'
import { rawJson } from '../../packages/sdk/src/client/raw-json.js'
import type { Answer } from './client.js'
import { isOpaque, type Operation, typesOf } from './operations.js'
import { keyOf, memberOf, type Node, type ObjectNode, write } from './tree.js'
import type { World } from './world.js'

type Raw = ReturnType<typeof rawJson>

interface Written {
  readonly operation: Operation
  /** The path that was called, without its query. */
  readonly path: string
  readonly body: Node
}

/** Reads back what an accepted request has stored, wherever the API shows it, and says what is not as it was sent. */
export async function roundTripFaults(world: World, written: Written, answer: Answer): Promise<string[]> {
  const { operation, path, body } = written
  if (answer.status >= 300 || answer.bytes.length === 0 || answer.headers['idempotency-replayed'] !== undefined)
    return []
  const json = rawJson(answer.bytes.toString())
  const made = listed(json, 'tasks')
  const sent = memberOf(body, 'tasks')
  if (sent?.kind === 'list' && made.length === sent.items.length) return batchFaults(world, made, sent.items)
  const results = listed(json, 'results')
  const reports = memberOf(body, 'reports')
  if (reports?.kind === 'list') return reportFaults(world, results, reports.items)
  if (body.kind !== 'object') return []
  if (operation.method === 'PUT' || operation.method === 'PATCH') return differences(body, json)
  return recordFaults(world, { path, body }, json)
}

const listed = (json: Raw, key: string): readonly Raw[] => {
  const list = json.member(key)
  return list === undefined || !Array.isArray(list.value) ? [] : itemsOf(list)
}

/** The items of a list of objects, each as its text. */
function itemsOf(list: Raw): readonly Raw[] {
  return (list.value as unknown[]).map((item) => rawJson(JSON.stringify(item)))
}

async function batchFaults(world: World, made: readonly Raw[], sent: readonly Node[]): Promise<string[]> {
  const found = await Promise.all(
    sent.map(async (item, index) => {
      const { task_id, replayed } = (made[index]?.value ?? {}) as Record<string, unknown>
      if (replayed || item.kind !== 'object') return []
      return differences(item, await read(world, `/api/v1/tasks/${String(task_id)}`))
    }),
  )
  return found.flat()
}

async function reportFaults(world: World, results: readonly Raw[], reports: readonly Node[]): Promise<string[]> {
  const found = await Promise.all(
    reports.map(async (report, index) => {
      const { task_id, accepted, status } = (results[index]?.value ?? {}) as Record<string, unknown>
      const result = memberOf(report, 'result')
      if (accepted !== true || status !== 'SUCCEEDED' || result === undefined || report.kind !== 'object') return []
      const sent = { ...report, members: report.members.filter((member) => keyOf(member) === 'result') }
      return differences(sent, await read(world, `/api/v1/tasks/${String(task_id)}`))
    }),
  )
  return found.flat()
}

/** A thing that was made by a POST to its collection, where the document has a way to read it. */
async function recordFaults(world: World, { path, body }: { path: string; body: ObjectNode }, json: Raw) {
  const reader = world.operations.find(({ method, path: template }) => {
    const [collection, name] = [template.slice(0, template.lastIndexOf('/')), /\/\{(\w+)\}$/.exec(template)?.[1]]
    return method === 'GET' && collection === path && name !== undefined && json.member(name) !== undefined
  })
  const name = /\{(\w+)\}$/.exec(reader?.path ?? '')?.[1]
  if (name === undefined) return []
  return differences(body, await read(world, `${path}/${String(json.member(name)?.value)}`))
}

async function read(world: World, path: string): Promise<Raw> {
  const answer = await world.client.send({ method: 'GET', path })
  if (answer.status !== 200) throw new Error(`${path} answers ${answer.status}`)
  return rawJson(answer.bytes.toString())
}

/** Members of the body that the record has too, and has otherwise. */
export function differences(body: ObjectNode, record: Raw): string[] {
  return body.members.flatMap((member) => {
    const key = keyOf(member)
    const stored = record.member(key)
    if (stored === undefined || isSame(key, member.value, stored)) return []
    return [`${key} was sent as ${shown(write(member.value).toString())} and is ${shown(stored.text)}`]
  })
}

const shown = (text: string): string => (text.length > 200 ? `${text.slice(0, 200)}…` : text)

/** Texts that are kept must be equal byte for byte; other fields by their value, durations to the millisecond. */
function isSame(key: string, sent: Node, stored: Raw): boolean {
  const text = write(sent).toString()
  if (isOpaque(sent.schema) || key === 'metadata') return text.trim() === stored.text
  const value: unknown = JSON.parse(text)
  // Absent and null mean the default, and an instant is told in another spelling, or as "now".
  if (value === null || sent.schema.format === 'date-time') return true
  if (/number|integer/.test(typesOf(sent.schema).join()))
    return Math.abs(Number(value) - Number(stored.value)) <= 0.000_51
  // A repeated name in a list of names says nothing more.
  return isEqual(Array.isArray(value) ? [...new Set(value)] : value, stored.value)
}

function isEqual(a: unknown, b: unknown): boolean {
  try {
    expect(a).toStrictEqual(b)
    return true
  } catch {
    return false
  }
}

import { beforeAll, expect, it } from 'vitest'
import { type RawJson, rawJson } from '../../packages/sdk/src/client/raw-json.js'
import { honest } from './hostile.js'
import { openWorld, type World } from './world.js'

let world: World
let worker: string
beforeAll(async () => {
  world = await openWorld('kept texts')
  worker = await register()
})

interface Grant {
  readonly task: string
  readonly lease: string
  readonly number: number
  readonly raw: RawJson
}

async function call(method: string, path: string, body?: string): Promise<RawJson> {
  const bytes = body === undefined ? {} : { body: Buffer.from(body) }
  const answer = await world.client.send({ method, path: `/api/v1${path}`, ...bytes })
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.bytes.toString()}`)
  return rawJson(answer.bytes.toString())
}

async function register(): Promise<string> {
  const session = await call(
    'POST',
    '/workers',
    '{"name":"texts","queues":["texts"],"task_types":["text"],"slots":500}',
  )
  return String(session.member('worker_id')?.value)
}

let received = 0

async function poll(count: number): Promise<Map<string, Grant>> {
  const found = new Map<string, Grant>()
  while (found.size < count) {
    const request = `{"slots":${count - found.size},"wait_seconds":10,"received":${received}}`
    const answer = await call('POST', `/workers/${worker}/poll`, request)
    for (const raw of itemsOf(answer.member('tasks'))) {
      const { task_id, lease, grant } = raw.value as { task_id: string; lease: string; grant: number }
      found.set(task_id, { task: task_id, lease, number: grant, raw })
      received = Math.max(received, grant)
    }
  }
  return found
}

/** The items of a list, each as the text that the server wrote. */
function itemsOf(list: RawJson | undefined): RawJson[] {
  const items: RawJson[] = []
  let text = list?.text.slice(1, -1) ?? ''
  while (text.trim() !== '') {
    const item = firstValue(text)
    items.push(rawJson(item))
    text = text.slice(text.indexOf(item) + item.length).replace(/^\s*,/, '')
  }
  return items
}

function firstValue(text: string): string {
  let depth = 0
  for (const { 0: token, index } of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]]/g)) {
    if (token === '{' || token === '[') depth += 1
    if (token === '}' || token === ']') depth -= 1
    if (depth === 0) return text.slice(text.search(/\S/), index + 1)
  }
  throw new Error('no item')
}

it('payload, checkpoint and result come back byte for byte: to the worker, to its next attempt, to the reader, after a replay', async () => {
  const items = honest.map((text) => `{"task_type":"text","queue":"texts","payload": ${text} ,"retry_jitter":"none"}`)
  const batch = await call('POST', '/tasks/batch', `{"tasks":[${items.join()}]}`)
  const ids = itemsOf(batch.member('tasks')).map((item) => String(item.member('task_id')?.value))
  const textOf = new Map(ids.map((id, index) => [id, honest[index] ?? '']))

  const first = await poll(ids.length)
  expect([...first.keys()].sort()).toEqual([...ids].sort())
  const checkpoints = [...first.values()].map(({ task, lease }) => `{"lease":"${lease}","value": ${textOf.get(task)} }`)
  await call('POST', `/workers/${worker}/heartbeat`, `{"received":${received},"checkpoints":[${checkpoints.join()}]}`)
  await report(first, () => '"outcome":"failed","error":{"message":"again"},"retry_after_seconds":0')

  const second = await poll(ids.length)
  await report(second, (task) => `"outcome":"succeeded","result": ${textOf.get(task)} `)
  for (const id of ids) {
    const text = textOf.get(id)
    const record = await call('GET', `/tasks/${id}`)
    expect(first.get(id)?.raw.member('payload')?.text).toBe(text)
    expect(second.get(id)?.raw.member('payload')?.text).toBe(text)
    expect(second.get(id)?.raw.member('checkpoint')?.text).toBe(text)
    expect(record.member('payload')?.text).toBe(text)
    expect(record.member('result')?.text).toBe(text)
  }
}, 300_000)

it('a payload is the same after a replay', async () => {
  const text = honest.find((one) => one.includes('__proto__')) ?? ''
  const task = await call('POST', '/tasks', `{"task_type":"text","queue":"texts","payload":${text}}`)
  const id = String(task.member('task_id')?.value)
  await report(await poll(1), () => '"outcome":"failed","error":{"retryable":false}')
  await call('POST', `/tasks/${id}/retry`)
  expect((await poll(1)).get(id)?.raw.member('payload')?.text).toBe(text)
})

async function report(grants: ReadonlyMap<string, Grant>, words: (task: string) => string): Promise<void> {
  const reports = [...grants.values()].map(
    ({ task, lease }) => `{"task_id":"${task}","lease":"${lease}",${words(task)}}`,
  )
  const answer = await call('POST', `/workers/${worker}/report`, `{"reports":[${reports.join()}]}`)
  const verdicts = answer.member('results')?.value as { accepted: boolean }[]
  expect(verdicts.every(({ accepted }) => accepted)).toBe(true)
}

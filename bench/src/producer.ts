import { setTimeout as delay } from 'node:timers/promises'
import { Connection } from './connection.js'
import { type Template, taskJson, templates, workflowJson, workflowSize } from './payload.js'
import { serveCalls } from './remote.js'
import { type Percentiles, percentilesOf } from './stats.js'

/** The process that submits. Every call resolves when all its tasks were answered 202, and rejects at any other answer. */
export type ProducerCalls = {
  prepare: { takes: { urls: readonly string[]; payloadBytes: number; seed: number }; answers: undefined }
  /** One task a request, so many requests in flight. */
  single: { takes: { count: number; inFlight: number }; answers: Submission }
  /** `size` tasks a request. */
  batch: { takes: { count: number; size: number; inFlight: number }; answers: Submission }
  /** One workflow a request; the answer counts their tasks. */
  workflow: { takes: { count: number; inFlight: number }; answers: Submission }
  /** Evenly spaced single requests, whether or not earlier ones were answered. */
  openLoop: { takes: { rate: number; seconds: number }; answers: Submission & { lateness: Percentiles } }
}

export interface Submission {
  readonly count: number
  readonly seconds: number
  /** From sending a request to its answer. */
  readonly answered: Percentiles
}

let bodies: readonly Template[] = []
let servers: readonly URL[] = []
let opened = 0
const idle: Connection[] = []
let sent = 0

serveCalls<ProducerCalls>({
  prepare: async ({ urls, payloadBytes, seed }) => {
    bodies = templates(256, payloadBytes, seed)
    servers = urls.map((url) => new URL(url))
    return undefined
  },
  single: ({ count, inFlight }) => closedLoop(count, inFlight, () => send('/api/v1/tasks', nextTask())),
  batch: async ({ count, size, inFlight }) => {
    const batches = Math.ceil(count / size)
    let left = count
    const submission = await closedLoop(batches, inFlight, () => {
      const now = Math.min(size, left)
      left -= now
      return send('/api/v1/tasks/batch', `{"tasks":[${Array.from({ length: now }, nextTask).join(',')}]}`)
    })
    return { ...submission, count }
  },
  workflow: async ({ count, inFlight }) => {
    const submission = await closedLoop(count, inFlight, () => send('/api/v1/workflows', workflowJson(nextTask)))
    return { ...submission, count: count * workflowSize }
  },
  openLoop,
})

function nextTask(): string {
  sent += 1
  return taskJson(bodies[sent % bodies.length] as Template)
}

/** @returns ms until the answer */
async function send(path: string, body: string): Promise<number> {
  const connection = await connected()
  const began = performance.now()
  const { status, body: answer } = await connection.post(path, body)
  if (status !== 202) throw new Error(`${path} answered ${status}: ${answer.slice(0, 500)}`)
  idle.push(connection)
  return performance.now() - began
}

/** The connection that was used last, so that few stay busy; a new one when all are in use. */
async function connected(): Promise<Connection> {
  for (let connection = idle.pop(); connection !== undefined; connection = idle.pop()) {
    if (connection.isOpen) return connection
  }
  opened += 1
  return Connection.open(servers[opened % servers.length] as URL)
}

async function closedLoop(requests: number, inFlight: number, request: () => Promise<number>): Promise<Submission> {
  const times: number[] = []
  let left = requests
  const began = performance.now()
  const lane = async () => {
    while (left > 0) {
      left -= 1
      times.push(await request())
    }
  }
  await Promise.all(Array.from({ length: inFlight }, lane))
  return { count: requests, seconds: (performance.now() - began) / 1000, answered: percentilesOf(times) }
}

async function openLoop({ rate, seconds }: ProducerCalls['openLoop']['takes']) {
  const count = Math.round(rate * seconds)
  const requests: Promise<number>[] = []
  const lateness: number[] = []
  const began = performance.now()
  while (requests.length < count) {
    const due = began + (requests.length * 1000) / rate
    const early = due - performance.now()
    // Timers wake up to a millisecond late; the lateness of the loop itself is reported beside the result.
    if (early > 0) await delay(Math.max(1, Math.floor(early)))
    if (performance.now() < due) continue
    lateness.push(performance.now() - due)
    requests.push(send('/api/v1/tasks', nextTask()))
  }
  const answered = percentilesOf(await Promise.all(requests))
  return { count, seconds: (performance.now() - began) / 1000, answered, lateness: percentilesOf(lateness) }
}

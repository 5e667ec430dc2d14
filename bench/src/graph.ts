import { setTimeout as delay } from 'node:timers/promises'
import { postJson } from './api-call.js'
import { cpuOf, cpuOfTree, memoryOf } from './cpu.js'
import type { LoopStall } from './loop-probe.js'
import type { Options } from './options.js'
import { queue, taskType } from './payload.js'
import type { Server } from './server.js'
import type { Stack } from './stack.js'
import { percentilesOf } from './stats.js'
import { withWarmStack } from './with-stack.js'

/** What each node waits for: so many of the layer before it, which is that wide. */
const parents = 10
const width = 100
const readers = 8
const rounds = 5

/**
 * How long a node answers nobody else while it takes a workflow of `nodes` tasks and ten times as many dependencies, and while that is read:
 * by one, by eight at once, and by eight beside single tasks at a steady rate. A batch of as many tasks beside it.
 */
export async function benchGraph(options: Options, nodes: number): Promise<void> {
  await withWarmStack(
    options,
    async (stack) => {
      const [{ url }] = stack.servers
      const posted = (path: string, body: string) =>
        measured(stack, () => postJson<{ readonly workflow_id?: string }>(`${url}/api/v1/${path}`, body))
      // the worker serves another queue: it waits and stands as it is
      const workflow = await posted('workflows', graphJson(nodes, 'elsewhere'))
      tell(`a workflow of ${nodes} tasks and ${edgesOf(nodes)} dependencies`, workflow)
      const ran = await posted('workflows', graphJson(nodes, queue))
      await stack.worker.call('reached', { count: options.tasks.warmUp + nodes })
      const finished = `workflows/${ran.value.workflow_id}`
      await besideTasks(stack, options, null)
      await besideTasks(stack, options, finished)
      const waiting = `workflows/${workflow.value.workflow_id}`
      tell('read by one while it waits', await measured(stack, () => readMany(url, waiting, { readers: 1, rounds })))
      tell(
        'read by one when it has ended',
        await measured(stack, () => readMany(url, finished, { readers: 1, rounds })),
      )
      tell(`read by ${readers} at once`, await measured(stack, () => readMany(url, finished, { readers, rounds })))
      const tasks = Array.from({ length: nodes }, () => ({ task_type: taskType, queue: 'elsewhere', payload: {} }))
      tell(`a batch of ${nodes} tasks`, await posted('tasks/batch', JSON.stringify({ tasks })))
    },
    { watchesLoop: true },
  )
}

/** Single tasks at a steady rate, without readers or with eight of them. */
async function besideTasks(stack: Stack, { rate, seconds }: Options, path: string | null): Promise<void> {
  const [server] = stack.servers
  const done = new AbortController()
  const reading = path === null ? [] : Array.from({ length: readers }, () => readUntil(server.url, path, done.signal))
  const { value, ...cost } = await measured(stack, async () => {
    const { answered } = await stack.producer.call('openLoop', { rate, seconds }).finally(() => done.abort())
    const reads = await Promise.all(reading)
    return { answered, reads: reads.reduce((sum, count) => sum + count, 0) }
  })
  const { p50, p99, max } = value.answered
  tell(
    `${rate} tasks/s answered p50 ${ms(p50)} p99 ${ms(p99)} max ${ms(max)}, beside ${value.reads} reads by ${reading.length}`,
    cost,
  )
}

interface Measured<T> {
  readonly value: T
  readonly tookMs: number
  readonly stall: LoopStall
  readonly serverMs: number
  readonly postgresMs: number
  readonly mostMb: number
}

async function measured<T>(stack: Stack, work: () => Promise<T>): Promise<Measured<T>> {
  const [server] = stack.servers
  await delay(100)
  await server.loopStall()
  const before = [cpuOf(server.pid), cpuOfTree(stack.postgresPid)] as const
  const began = performance.now()
  const value = await work()
  const tookMs = performance.now() - began
  await delay(20)
  const stall = await server.loopStall()
  return {
    ...{ value, tookMs, stall, mostMb: memoryOf(server.pid).mostMb },
    serverMs: (cpuOf(server.pid) - before[0]) / 1_000,
    postgresMs: (cpuOfTree(stack.postgresPid) - before[1]) / 1_000,
  }
}

function tell(what: string, cost: Omit<Measured<unknown>, 'value'>): void {
  const cpu = `CPU of the server ${ms(cost.serverMs)}, of PostgreSQL ${ms(cost.postgresMs)}; at most ${cost.mostMb.toFixed(0)} MB`
  const { mostMs, mostCpuMs } = cost.stall
  console.log(`${what}: ${ms(cost.tookMs)}; the longest stall ${ms(mostMs)}, of CPU ${ms(mostCpuMs)}; ${cpu}`)
}

const ms = (value: number): string => `${value.toFixed(value < 100 ? 1 : 0)} ms`

async function readMany(url: Server['url'], path: string, asked: { readers: number; rounds: number }): Promise<void> {
  const times: number[] = []
  const read = async () => {
    for (let round = 0; round < asked.rounds; round++) {
      const began = performance.now()
      await get(url, path)
      times.push(performance.now() - began)
    }
  }
  await Promise.all(Array.from({ length: asked.readers }, read))
  const { count, p50, max } = percentilesOf(times)
  console.log(`  ${count} reads: p50 ${ms(p50)}, max ${ms(max)}`)
}

async function readUntil(url: string, path: string, signal: AbortSignal): Promise<number> {
  let reads = 0
  for (; !signal.aborted; reads++) await get(url, path)
  return reads
}

async function get(url: string, path: string): Promise<void> {
  const response = await fetch(`${url}/api/v1/${path}`)
  if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${await response.text()}`)
  await response.arrayBuffer()
}

function parentsOf(node: number): number[] {
  const layer = Math.floor(node / width)
  if (layer === 0) return []
  return Array.from({ length: parents }, (_, index) => (layer - 1) * width + ((node + index * 7) % width))
}

const edgesOf = (nodes: number): number => Math.max(0, nodes - width) * parents

function graphJson(nodes: number, queue: string): string {
  const tasks = Array.from({ length: nodes }, (_, node) => ({
    ...{ task_id: `node-${node}`, task_type: taskType, queue, payload: { sent: '0' } },
    dependencies: parentsOf(node).map((parent) => `node-${parent}`),
  }))
  return JSON.stringify({ workflow_name: 'graph', tasks })
}

import { cpuOf, cpuOfTree, memoryOf } from './cpu.js'
import type { Stack } from './stack.js'

/** CPU time a task, µs. */
export interface CpuPerTask {
  readonly postgres: number
  readonly server: number
  readonly worker: number
  readonly producer: number
}

/** What some tasks cost. */
export interface Cost {
  readonly tasks: number
  readonly seconds: number
  readonly tasksPerSecond: number
  readonly cpu: CpuPerTask
  readonly walBytes: number
  /** Resident memory of the server at the end, and at most since its start, MB. */
  readonly serverMb: { readonly nowMb: number; readonly mostMb: number }
}

/** Does some work on `tasks` tasks and tells what it cost, by the operating system's accounts. */
export async function measure(stack: Stack, tasks: number, work: () => Promise<void>): Promise<Cost> {
  const before = await sample(stack)
  const began = performance.now()
  await work()
  const seconds = (performance.now() - began) / 1000
  const after = await sample(stack)
  const each = (name: keyof CpuPerTask | 'walBytes') => (after[name] - before[name]) / tasks
  return {
    tasks,
    seconds,
    tasksPerSecond: tasks / seconds,
    cpu: { postgres: each('postgres'), server: each('server'), worker: each('worker'), producer: each('producer') },
    walBytes: each('walBytes'),
    serverMb: memoryOf(stack.server.pid),
  }
}

async function sample(stack: Stack): Promise<CpuPerTask & { readonly walBytes: number }> {
  return {
    walBytes: await stack.database.walBytes(),
    postgres: cpuOfTree(stack.postgresPid),
    server: cpuOf(stack.server.pid),
    worker: cpuOf(stack.worker.pid),
    producer: cpuOf(stack.producer.pid),
  }
}

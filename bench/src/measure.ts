import { cpuOf, cpuOfMachine, cpuOfTree, memoryOf } from './cpu.js'
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
  readonly nodes: number
  readonly tasks: number
  readonly seconds: number
  readonly tasksPerSecond: number
  readonly cpu: CpuPerTask
  readonly walBytes: number
  /** Share of the machine's CPU that others took meanwhile, 0 to 1: what to distrust a result by. */
  readonly others: number
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
    nodes: stack.servers.length,
    tasks,
    seconds,
    tasksPerSecond: tasks / seconds,
    cpu: { postgres: each('postgres'), server: each('server'), worker: each('worker'), producer: each('producer') },
    walBytes: each('walBytes'),
    others: shareOfOthers(before, after),
    serverMb: memoryOf(stack.servers[0].pid),
  }
}

interface Sample extends CpuPerTask {
  readonly walBytes: number
  readonly self: number
  readonly machine: { readonly busy: number; readonly all: number }
}

async function sample(stack: Stack): Promise<Sample> {
  return {
    walBytes: await stack.database.walBytes(),
    postgres: cpuOfTree(stack.postgresPid),
    server: stack.servers.reduce((sum, { pid }) => sum + cpuOf(pid), 0),
    worker: cpuOf(stack.worker.pid),
    producer: cpuOf(stack.producer.pid),
    self: cpuOf(process.pid),
    machine: cpuOfMachine(),
  }
}

function shareOfOthers(before: Sample, after: Sample): number {
  const ours = (['postgres', 'server', 'worker', 'producer', 'self'] as const).reduce(
    (sum, name) => sum + after[name] - before[name],
    0,
  )
  const busy = after.machine.busy - before.machine.busy
  return Math.max(0, busy - ours) / Math.max(1, after.machine.all - before.machine.all)
}

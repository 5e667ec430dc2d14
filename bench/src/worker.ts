import { Duly, defineTask, Worker } from '@duly/sdk'
import { taskType } from './payload.js'
import { serveCalls } from './remote.js'
import { type Percentiles, percentilesOf } from './stats.js'

/** The process that runs handlers: a worker of the SDK as a user would start it, with a handler that does nothing. */
export type WorkerCalls = {
  start: { takes: { url: string; queue: string; slots: number }; answers: undefined }
  /** Resolves when so many different tasks were started since the process began. */
  reached: { takes: { count: number }; answers: undefined }
  /** Gives back what it holds and leaves; `start` may follow. */
  stop: { takes: undefined; answers: undefined }
  /** What was seen since the last call of it. */
  seen: { takes: undefined; answers: Seen }
}

export interface Seen {
  /** Starts of a task that had been started before, since the process began. */
  readonly repeats: number
  /** From the producer's sending of a task to the start of its handler, by the machine's monotonic clock. */
  readonly delays: Percentiles
}

/** Without a new start for so long, waiting for more is given up. */
const STALL_MS = 60_000

const task = defineTask<{ readonly sent: string }>(taskType)
const started = new Set<string>()
let repeats = 0
let delays: number[] = []
let goal: { readonly count: number; readonly resolve: () => void } | null = null
let running: { readonly worker: Worker; readonly duly: Duly } | null = null

function onStart(taskId: string, sent: string): void {
  delays.push(Number(process.hrtime.bigint() - BigInt(sent)) / 1e6)
  if (started.has(taskId)) repeats += 1
  started.add(taskId)
  if (goal !== null && started.size >= goal.count) goal.resolve()
}

serveCalls<WorkerCalls>({
  start: async ({ url, queue, slots }) => {
    const duly = new Duly({ url })
    const worker = new Worker(duly, { queues: [queue], slots }).handle(task, async (payload, ctx) => {
      onStart(ctx.taskId, payload.sent)
    })
    running = { worker, duly }
    await worker.start()
    return undefined
  },
  reached: ({ count }) => reached(count),
  stop: async () => {
    await running?.worker.stop()
    running?.duly.close()
    running = null
    return undefined
  },
  seen: async () => {
    const seen = { repeats, delays: percentilesOf(delays) }
    delays = []
    return seen
  },
})

function reached(count: number): Promise<undefined> {
  if (started.size >= count) return Promise.resolve(undefined)
  return new Promise((resolve, reject) => {
    let last = -1
    const watch = setInterval(() => {
      if (started.size === last)
        reject(new Error(`no start for ${STALL_MS / 1000} s: ${last} of ${count} tasks started`))
      last = started.size
    }, STALL_MS)
    const done = () => {
      clearInterval(watch)
      goal = null
      resolve(undefined)
    }
    goal = { count, resolve: done }
  })
}

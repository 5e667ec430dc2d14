import { Duly, defineTask, Worker } from '@duly/sdk'
import { taskType } from './payload.js'
import { serveCalls } from './remote.js'
import { type Percentiles, percentilesOf } from './stats.js'

/** The process that runs handlers: a worker of the SDK as a user would start it, with a handler that does nothing. */
export type WorkerCalls = {
  start: { takes: { urls: readonly string[]; queue: string; slots: number }; answers: undefined }
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

interface Running {
  readonly worker: Worker
  readonly duly: Duly
}

const task = defineTask<{ readonly sent: string }>(taskType)
const started = new Set<string>()
let repeats = 0
let delays: number[] = []
let goal: { readonly count: number; readonly resolve: () => void } | null = null
let running: readonly Running[] = []

function onStart(taskId: string, sent: string): void {
  delays.push(Number(process.hrtime.bigint() - BigInt(sent)) / 1e6)
  if (started.has(taskId)) repeats += 1
  started.add(taskId)
  if (goal !== null && started.size >= goal.count) goal.resolve()
}

/** One session; with several nodes each has one, and its share of the slots. */
async function startWorker(url: string, options: { readonly queue: string; readonly slots: number }): Promise<Running> {
  const duly = new Duly({ url })
  const worker = new Worker(duly, { queues: [options.queue], slots: options.slots }).handle(
    task,
    async (payload, ctx) => {
      onStart(ctx.taskId, payload.sent)
    },
  )
  await worker.start()
  return { worker, duly }
}

serveCalls<WorkerCalls>({
  start: async ({ urls, queue, slots }) => {
    running = await Promise.all(urls.map((url) => startWorker(url, { queue, slots: Math.ceil(slots / urls.length) })))
    return undefined
  },
  reached: ({ count }) => reached(count),
  stop: async () => {
    await Promise.all(running.map(({ worker }) => worker.stop()))
    for (const { duly } of running) duly.close()
    running = []
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

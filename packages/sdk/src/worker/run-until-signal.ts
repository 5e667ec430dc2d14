import { constants } from 'node:os'
import type { StopSummary } from './events.js'
import { WorkerStoppingError } from './handler-errors.js'
import type { Worker } from './worker.js'

const SIGNALS = ['SIGTERM', 'SIGINT'] as const

/** `worker.run()`: the life of a worker process. */
export async function runUntilSignal(worker: Worker): Promise<StopSummary> {
  const stopped = new Promise<StopSummary>((resolve) => worker.once('stopped', resolve))
  let isAsked = false
  const onSignal = (signal: NodeJS.Signals) => {
    // By convention, a process that a signal ended exits with 128 and its number.
    if (isAsked) process.exit(128 + constants.signals[signal])
    isAsked = true
    void worker.stop()
  }
  for (const signal of SIGNALS) process.on(signal, onSignal)
  try {
    await worker.start().catch((error: unknown) => {
      if (!(error instanceof WorkerStoppingError)) throw error
    })
    const summary = await stopped
    if (!summary.isClean) process.exitCode = 1
    // Stuck code would keep the process alive for as long as it likes.
    if (summary.stuck > 0) process.exit(1)
    return summary
  } finally {
    for (const signal of SIGNALS) process.off(signal, onSignal)
  }
}

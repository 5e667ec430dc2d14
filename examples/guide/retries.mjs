// What a handler can say besides "done". Run: node examples/guide/retries.mjs
import { setTimeout as sleep } from 'node:timers/promises'
import { classifyHttpError, Duly, defineTask, PermanentError, TaskFailedError, Worker } from '@duly/sdk'

const retry = { limit: 3, backoff: 'exponential', delay: '100ms', maxDelay: '10s', jitter: 'full' }
const order = defineTask('order', { queue: 'guide-retries', retry, timeout: '5s' })

const duly = new Duly()
const worker = new Worker(duly, { classifyError: classifyHttpError })
worker.handle(order, async ({ kind }, context) => {
  switch (kind) {
    case 'flaky': // an ordinary error: tried again after the drawn delay
      if (context.failures < 2) throw new Error('connection reset')
      return { attempts: context.attempt }
    case 'busy': // the other side said when: its delay wins over the drawn one
      if (context.attempt === 1) throw context.retryAfter('300ms', new Error('429 Too Many Requests'))
      return { attempts: context.attempt }
    case 'early': // not now: no failure, uses up no retry
      if (context.attempt === 1) return context.snooze('300ms')
      return { attempts: context.attempt, failures: context.failures }
    case 'wrong': // trying again is useless: FAILED at once
      throw new PermanentError('no such customer')
    case 'slow': // the signal aborts at the time limit; the attempt counts as failed and is tried again
      if (context.attempt === 1) await sleep(60_000, undefined, { signal: context.signal })
      return { attempts: context.attempt }
  }
})
await worker.start()

for (const kind of ['flaky', 'busy', 'early', 'wrong', 'slow']) {
  const handle = await duly.submit(order, { kind })
  try {
    console.log(kind, await handle.result())
  } catch (error) {
    if (!(error instanceof TaskFailedError)) throw error
    console.log(kind, error.status, error.error?.message)
  }
  for (const { attempt, outcome } of await duly.tasks.attempts(handle.id)) console.log('  attempt', attempt, outcome)
}

await worker.stop()
duly.close()

// A worker whose handlers say when they begin, and last as long as they are told, or until their signal.
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from '@duly/sdk'

/** @param {import('@duly/sdk').Duly} duly */
export default (duly) =>
  new Worker(duly, { slots: 4, grace: Number(process.env.GRACE_MS), abortGrace: 300 })
    .handle('work', async (payload, { signal, taskId }) => {
      console.log(`began ${taskId}`)
      await delay(Number(payload), undefined, { signal })
      return 'done'
    })
    .handle('deaf', async (payload, { taskId }) => {
      console.log(`began ${taskId}`)
      await delay(Number(payload))
    })
    .handle('member', async (payload, { attempt, signal, taskId }) => {
      console.log(`began ${taskId}, attempt ${attempt}`)
      if (attempt === 1) await delay(Number(payload), undefined, { signal })
      return { attempt }
    })
    .handle('join', (_, { dependencyResults }) => dependencyResults)

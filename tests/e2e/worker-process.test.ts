import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Duly } from '@duly/sdk'
import { beforeAll, describe, expect, it } from 'vitest'
import { createDatabase } from '../support/database.js'
import { startServer, startWorker } from '../support/processes.js'
import type { TestProcess } from '../support/test-process.js'

const file = fileURLToPath(new URL('./worker.mjs', import.meta.url))
let url = ''
let duly: Duly

beforeAll(async () => {
  url = (await startServer({ databaseUrl: (await createDatabase()).url })).url
  duly = new Duly({ url })
})

/** A worker process in the middle of a task. */
async function working(
  taskType: 'work' | 'deaf',
  options: { ms: number; graceMs?: number },
): Promise<{ worker: TestProcess; id: string }> {
  const { ms, graceMs = 300 } = options
  const worker = startWorker({ url, file, env: { GRACE_MS: String(graceMs) } })
  const { id } = await duly.submit(taskType, ms)
  await worker.line(new RegExp(`began ${id}`))
  return { worker, id }
}

describe('SIGTERM', () => {
  it('lets a task finish that needs less than the grace', async () => {
    const { worker, id } = await working('work', { ms: 150, graceMs: 10_000 })
    expect(await worker.kill('SIGTERM')).toEqual({ code: 0, signal: null })
    expect(await duly.tasks.get(id)).toMatchObject({ status: 'SUCCEEDED', attempts: 1, result: 'done' })
  })

  it('gives back a task that needs longer; it is no failure, and runs elsewhere', async () => {
    const { worker, id } = await working('work', { ms: 60_000 })
    expect(await worker.kill('SIGTERM')).toEqual({ code: 0, signal: null })
    expect(await duly.tasks.get(id)).toMatchObject({ status: 'PENDING', failures: 0, crashes: 0 })
    expect(await duly.tasks.attempts(id)).toMatchObject([{ attempt: 1, outcome: 'released' }])
    const next = startWorker({ url, file, env: { GRACE_MS: '300' } })
    await next.line(new RegExp(`began ${id}`))
    await duly.tasks.cancel(id)
    expect(await duly.tasks.wait(id)).toMatchObject({ status: 'CANCELLED', attempts: 2 })
    await next.kill('SIGTERM')
  })
})

describe('a second signal', () => {
  it('a second later ends the process at once', async () => {
    const { worker } = await working('deaf', { ms: 60_000, graceMs: 30_000 })
    worker.signal('SIGTERM')
    // one sooner is taken for the same signal, passed on by a parent
    await delay(1_200)
    expect(worker.isRunning).toBe(true)
    const beganMs = performance.now()
    // 128 and the number of the signal, as shells count
    expect(await worker.kill('SIGTERM')).toEqual({ code: 143, signal: null })
    expect(performance.now() - beganMs).toBeLessThan(20_000)
  })
})

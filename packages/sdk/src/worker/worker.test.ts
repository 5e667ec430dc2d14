import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Duly } from '../client/duly.js'
import { FakeBroker } from '../testing/fake-broker.js'
import type { WorkerOptions } from './options.js'
import { Worker } from './worker.js'

let broker: FakeBroker
let duly: Duly
const workers: Worker[] = []

beforeEach(async () => {
  broker = await FakeBroker.start()
  duly = new Duly({ url: broker.url })
})

afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop({ graceMs: 0 })))
  duly.close()
  await broker.stop()
})

function newWorker(options: WorkerOptions = {}): Worker {
  const worker = new Worker(duly, { name: 'test', slots: 2, ...options })
  workers.push(worker)
  return worker
}

describe('a worker', () => {
  it('runs a task and reports its result', async () => {
    await newWorker()
      .handle('greet', (payload) => ({ hello: payload }))
      .start()
    const id = broker.push('greet', 'world')
    expect(await broker.outcome(id)).toMatchObject({ outcome: 'succeeded', result: { hello: 'world' } })
  })

  it('runs many tasks without ever holding more leases than slots', async () => {
    const ids = Array.from({ length: 200 }, (_, n) => broker.push('n', n))
    await newWorker({ slots: 7 })
      .handle('n', async (n) => n)
      .start()
    for (const id of ids) await broker.outcome(id)
    expect(broker.reports).toHaveLength(200)
    expect(broker.mostLeases).toBeLessThanOrEqual(7)
  })

  it('gives a task that a stop left unfinished back', async () => {
    const worker = newWorker()
    const started = new Promise<void>((resolve) => {
      worker.handle('long', (_, { signal }) => {
        resolve()
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      })
    })
    await worker.start()
    const id = broker.push('long')
    await started
    expect(await worker.stop({ graceMs: 10 })).toMatchObject({ isClean: true })
    expect(broker.reportOf(id)).toMatchObject({ outcome: 'released' })
  })
})

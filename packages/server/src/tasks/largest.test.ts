import { limits } from '@duly/domain'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  type HttpNode,
  openStore,
  type RawWorker,
  startHttpNode,
  type WireGrant,
} from '../dispatch/testing/http-node.js'

let node: HttpNode
let worker: RawWorker
beforeAll(async () => {
  const { url } = await openStore()
  node = await startHttpNode(url)
  worker = await node.api.worker({ queues: ['large'] })
})

const filled = (bytes: number): string => 'x'.repeat(bytes - 2)
const largest = {
  queue: 'large',
  payload: filled(limits.payloadMaxBytes),
  metadata: Object.fromEntries(Array.from({ length: 15 }, (_, n) => [`key-${n}`, filled(1_070)])),
  tags: Array.from({ length: limits.tagsMaxCount }, (_, n) => `${n}`.padEnd(limits.tagMaxChars, 'x')),
  max_retries: 0,
}

async function running(): Promise<{ id: string; grant: WireGrant }> {
  const { task_id } = await node.api.submit(largest)
  const [grant] = await worker.poll(1, { wait: 30 })
  if (grant?.task_id !== task_id) throw new Error(`got ${grant?.task_id} in place of ${task_id}`)
  const checkpoints = [{ lease: grant.lease, value: filled(limits.checkpointMaxBytes) }]
  const beat = { received: worker.received, leases: [grant.lease], checkpoints }
  expect((await node.api.call('POST', `/workers/${worker.id}/heartbeat`, beat)).status).toBe(200)
  return { id: task_id, grant }
}

const error = {
  class: 'E'.repeat(10_000),
  message: 'm'.repeat(100_000),
  stack: 's'.repeat(1_000_000),
  retryable: false,
}

describe('a task at every limit', () => {
  it('is read, cancelled while it waits, and run again', async () => {
    const { task_id } = await node.api.submit({ ...largest, delay_seconds: 3_600 })
    expect(await node.api.call('POST', `/tasks/${task_id}/cancel`)).toMatchObject({ status: 200 })
    expect(await node.api.call('POST', `/tasks/${task_id}/retry`)).toMatchObject({ status: 200 })
    const [grant] = await worker.poll(1, { wait: 30 })
    expect(grant).toMatchObject({ task_id, payload: largest.payload })
    expect(await worker.report([{ task_id, lease: grant?.lease ?? '' }])).toMatchObject([{ accepted: true }])
  })

  it('is cancelled while it runs, and its trail is read', async () => {
    const { id, grant } = await running()
    expect(await node.api.call('POST', `/tasks/${id}/cancel`)).toMatchObject({ status: 202 })
    expect(await worker.report([grant], { outcome: 'cancelled' })).toMatchObject([{ accepted: true }])
    expect(await node.api.get(id)).toMatchObject({ status: 'CANCELLED' })
    expect((await node.api.call('GET', `/tasks/${id}/events`)).status).toBe(200)
  })

  it('fails with the longest error, cut, and lives again to give the largest result', async () => {
    const { id, grant } = await running()
    expect(await worker.report([grant], { outcome: 'failed', error })).toMatchObject([{ accepted: true }])
    const failed = await node.api.get(id)
    expect(failed).toMatchObject({
      status: 'FAILED',
      error: { message: error.message.slice(0, limits.errorMessageMaxBytes) },
    })
    expect((await node.api.call('GET', `/tasks/${id}/attempts`)).status).toBe(200)
    expect(await node.api.call('POST', `/tasks/${id}/retry`)).toMatchObject({ status: 200 })
    const [again] = await worker.poll(1, { wait: 30 })
    expect(again).toMatchObject({ task_id: id })
    const result = filled(limits.resultMaxBytes)
    if (again)
      expect(await worker.report([again], { outcome: 'succeeded', result })).toMatchObject([{ accepted: true }])
    expect(await node.api.get(id)).toMatchObject({ status: 'SUCCEEDED', result })
  })

  it('a byte more anywhere is refused, and nothing of it is stored', async () => {
    const payload = filled(limits.payloadMaxBytes + 1)
    const over = await node.api.call<{ code: string }>('POST', '/tasks', { task_type: 'work', queue: 'large', payload })
    expect(over).toMatchObject({ status: 413, body: { code: 'too_large' } })
    expect(await worker.poll(1)).toEqual([])
  })
})

import { expect, test } from 'vitest'
import { newTask } from '../../packages/server/src/testing/test-node.js'
import { openSharedNode } from './shared-node.js'

const node = await openSharedNode()

test('a poll that does not wait gets what there is, though its session came into doubt while the queue was looked at', async () => {
  const { services, sessions, intake } = node.parts
  const registration = { name: 'w', host: null, version: null, queues: ['doubted'], taskTypes: ['work'], slots: 1 }
  const { id } = await services.workers.register({ ...registration, heartbeatMs: 60_000 }, null)
  const worker = { id, tenant: null }
  const state = await sessions.require(worker)
  const task = await intake.submit(newTask({ queue: 'doubted' }))
  node.faults = (statement) => {
    if (statement === 'lanes') state.doubt()
    return null
  }
  const request = { slots: 1, waitMs: 0, received: 0 }
  const granted = await services.workers.poll(worker, request, new AbortController().signal)
  expect(state.doubts).toBe(1)
  expect(granted).toMatchObject([{ id: task.id }])
})

import { expect, it } from 'vitest'
import { fromWire } from './wire.js'

it("puts a record in the client's words", () => {
  const wire = {
    task_id: 'task-1',
    created_at: '2026-04-03T10:00:00.000Z',
    scheduled_at: null,
    retry_delay_seconds: 60,
    error: { class: 'E', message: 'created_at', stack: null },
    depth_by_tenant: [{ tenant_id: 'a', depth: 1 }],
  }
  expect(fromWire(wire)).toEqual({
    id: 'task-1',
    createdAt: new Date('2026-04-03T10:00:00.000Z'),
    scheduledAt: null,
    retryDelaySeconds: 60,
    error: { class: 'E', message: 'created_at', stack: null },
    depthByTenant: [{ tenantId: 'a', depth: 1 }],
  })
})

it("leaves the user's own data alone", () => {
  const own = { snake_case: { created_at: 'yesterday', task_id: 1 }, list: [{ a_b: 1 }] }
  expect(fromWire({ payload: own, result: own, metadata: { tenant_id: 'x' }, checkpoint: own })).toEqual({
    payload: own,
    result: own,
    metadata: { tenant_id: 'x' },
    checkpoint: own,
  })
})

import Type, { type Static } from 'typebox'
import { Count, closed, list, NullableInstant, name } from './common.js'

export const Queue = closed({
  name: name(),
  paused: Type.Boolean(),
  depth: Type.Integer({ minimum: 0, description: 'PENDING tasks; what waits for its time is no backlog.' }),
  depth_by_priority: closed({ high: Count, medium: Count, low: Count }),
  depth_by_tenant: Type.Array(closed({ tenant_id: name(), depth: Count }), { description: 'The 100 deepest tenants.' }),
  running: Count,
  oldest_ready_at: NullableInstant,
})
export type QueueBody = Static<typeof Queue>

export const QueueList = list(Queue)

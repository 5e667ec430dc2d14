import Type from 'typebox'
import {
  Count,
  closed,
  Instant,
  id,
  list,
  NullableInstant,
  NullableName,
  NullableText,
  name,
  nullable,
  PageQuery,
} from './common.js'

/** Where a worker's session stands. */
const workerStates = ['live', 'draining', 'left', 'lost'] as const

export const Worker = closed({
  worker_id: id('worker'),
  name: Type.String(),
  host: NullableText,
  version: NullableText,
  state: Type.Enum([...workerStates], {
    description:
      'draining: finishes what it holds and gets nothing more; left: it ended by itself; lost: it fell silent.',
  }),
  tenant_id: { ...NullableName, description: 'The only tenant whose tasks it gets; null: all.' },
  queues: Type.Array(name(), { description: 'In a list the first 100; `queue_count` counts all.' }),
  queue_count: Count,
  task_types: Type.Array(name(), { description: 'In a list the first 100; `task_type_count` counts all.' }),
  task_type_count: Count,
  slots: Count,
  running: Type.Integer({ minimum: 0, description: 'Tasks that it holds a lease of.' }),
  registered_at: Instant,
  last_heartbeat_at: Instant,
  heartbeat_seconds: Type.Number(),
  lease_seconds: Type.Number(),
  ended_at: NullableInstant,
  lag_ms: nullable<number>('number', { description: 'Lag of its event loop, as it last told.' }),
  rss_bytes: nullable<number>('number', { description: 'Its memory, as it last told.' }),
})

export const WorkerList = list(Worker)

export const WorkersQuery = closed({
  state: Type.Optional(
    Type.Enum(['live', 'draining', 'ended'], { description: 'Absent: those that are there, live and draining.' }),
  ),
  ...PageQuery,
})

import Type from 'typebox'
import { Count, closed, list, NullableInstant, name, PageQuery } from './common.js'

export const Queue = closed({
  name: name(),
  paused: Type.Boolean({ description: 'Nothing is started from it; what runs goes on, and tasks are still taken.' }),
  depth: Type.Integer({ minimum: 0, description: 'PENDING tasks; what waits for its time is no backlog.' }),
  depth_by_priority: closed({ high: Count, medium: Count, low: Count }),
  depth_by_tenant: Type.Array(closed({ tenant_id: name(), depth: Count }), { description: 'The 100 deepest tenants.' }),
  running: Count,
  oldest_ready_at: NullableInstant,
})

export const PausedQueue = closed({
  ...Queue.properties,
  created: Type.Boolean({ description: 'There was no queue of this name: it is new. Look whether it is a slip.' }),
})

export const QueueList = list(Queue)

export const QueueParams = closed({
  queue_name: name({ description: 'URL-encoded: a name may hold `/` and `:`.' }),
})

export const QueuesQuery = closed(PageQuery)

export const PurgedQueue = closed({
  cancelled: Type.Integer({ minimum: 0, description: 'Tasks that this call cancelled.' }),
  remaining: Type.Integer({
    minimum: 0,
    description:
      'PENDING tasks in the queue now. Those that came since the call began are among them, so that it may be above 0 when `complete` is true.',
  }),
  complete: Type.Boolean({
    description:
      'Nothing is left of what was PENDING when the call began, but what a claim held: the purge is done, whatever `remaining` says. False: call again.',
  }),
})

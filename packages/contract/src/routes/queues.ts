import * as queues from '../queues.js'
import { type ApiRouteGroup, apiBase } from './route.js'

const queue = { tag: 'queues', params: queues.QueueParams } as const
const path = `${apiBase}/queues/{queue_name}`

export const queueRoutes = {
  listQueues: {
    method: 'GET',
    path: `${apiBase}/queues`,
    tag: 'queues',
    summary: 'List the queues with their depths',
    description: 'A caller that is bound to a tenant sees the queues in which tasks of that tenant run or ever waited.',
    scope: 'read',
    query: queues.QueuesQuery,
    responses: { 200: { description: 'By name.', schema: queues.QueueList } },
    problems: [],
  },
  getQueue: {
    ...queue,
    method: 'GET',
    path,
    summary: 'Read a queue',
    scope: 'read',
    responses: { 200: { description: 'The queue as it stands.', schema: queues.Queue } },
    problems: ['not_found'],
  },
  pauseQueue: {
    ...queue,
    method: 'POST',
    path: `${path}/pause`,
    summary: 'Start nothing more from a queue',
    description:
      'At once, on every node. What runs goes on, tasks are still taken and wait. A queue that does not exist yet comes into being, paused, and `created` says so: a name that is a slip would stay. Repeating it changes nothing.',
    scope: 'admin',
    responses: { 200: { description: 'The queue as it stands, and whether it is new.', schema: queues.PausedQueue } },
    problems: ['forbidden', 'unprocessable', 'commit_unknown'],
  },
  resumeQueue: {
    ...queue,
    method: 'POST',
    path: `${path}/resume`,
    summary: 'Start tasks of a paused queue again',
    description: 'Waiting workers are woken at once, on every node. Repeating it changes nothing.',
    scope: 'admin',
    responses: { 200: { description: 'The queue as it stands.', schema: queues.Queue } },
    problems: ['forbidden', 'not_found', 'commit_unknown'],
  },
  purgeQueue: {
    ...queue,
    method: 'POST',
    path: `${path}/purge`,
    summary: 'Cancel what waits in a queue',
    description:
      'Tasks that are PENDING when the call begins become CANCELLED, with the reason `purged`; they keep their records and can be retried. Scheduled, retrying and running tasks stay. One call works for some seconds at most: call again while `complete` is false. To keep new tasks from starting meanwhile, pause the queue first.',
    scope: 'admin',
    responses: { 200: { description: 'What was cancelled, and what is left.', schema: queues.PurgedQueue } },
    problems: ['forbidden', 'not_found', 'commit_unknown'],
  },
} as const satisfies ApiRouteGroup

import { QueueList } from '../queues.js'
import { type ApiRouteGroup, apiBase } from './route.js'

export const queueRoutes = {
  listQueues: {
    method: 'GET',
    path: `${apiBase}/queues`,
    tag: 'queues',
    summary: 'List the queues with their depths',
    scope: 'read',
    responses: { 200: { description: 'By name.', schema: QueueList } },
    problems: [],
  },
} as const satisfies ApiRouteGroup

import type { ErrorCode } from '@duly/domain'
import { bulkRoutes } from './routes/bulk.js'
import { clusterRoutes } from './routes/cluster.js'
import { cronRoutes } from './routes/cron-tasks.js'
import { deadLetterRoutes } from './routes/dead-letters.js'
import { keyRoutes } from './routes/keys.js'
import { queueRoutes } from './routes/queues.js'
import type { ApiRoute, ApiRouteGroup } from './routes/route.js'
import { statsRoutes } from './routes/stats.js'
import { systemRoutes } from './routes/system.js'
import { taskRoutes } from './routes/tasks.js'
import { workerRoutes } from './routes/workers.js'
import { workflowRoutes } from './routes/workflows.js'

export { type ApiResponse, type ApiRoute, apiBase } from './routes/route.js'

/** Every route by its operation id. */
export const apiRoutes = {
  ...taskRoutes,
  ...deadLetterRoutes,
  ...bulkRoutes,
  ...workflowRoutes,
  ...cronRoutes,
  ...queueRoutes,
  ...workerRoutes,
  ...keyRoutes,
  ...statsRoutes,
  ...clusterRoutes,
  ...systemRoutes,
} as const satisfies ApiRouteGroup

export type OperationId = keyof typeof apiRoutes

/** The routes as a list, with their operation ids. */
export const routeList: readonly (ApiRoute & { readonly operationId: OperationId })[] = (
  Object.keys(apiRoutes) as OperationId[]
).map((operationId) => ({ ...(apiRoutes[operationId] as ApiRoute), operationId }))

/** Problems that any route with a body, or any route at all, can answer. */
export function problemsOf(route: ApiRoute): readonly ErrorCode[] {
  const codes = new Set<ErrorCode>(route.problems)
  // An unknown parameter is refused by every route of the API; the others take anything.
  if (route.tag !== 'system') codes.add('invalid_request')
  if (route.params !== undefined) codes.add('invalid_id')
  if (route.scope !== null) for (const code of ['unauthenticated', 'forbidden'] as const) codes.add(code)
  if (route.body !== undefined)
    for (const code of ['invalid_json', 'too_large', 'unsupported_media_type'] as const) codes.add(code)
  if (route.tag !== 'system')
    for (const code of ['store_unavailable', 'shutting_down', 'not_served_here'] as const) codes.add(code)
  codes.add('internal')
  return [...codes]
}

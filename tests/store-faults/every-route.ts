import { type ApiRoute, exampleOf, type OperationId, routeList } from '@duly/contract'
import type { Api } from '../../packages/server/src/dispatch/testing/http-node.js'

export type Route = ApiRoute & { readonly operationId: OperationId }

export interface RouteAnswer {
  readonly status: number
  readonly retryAfter: number
  readonly contentType: string
  readonly code: string | null
  readonly ms: number
}

/** What a call needs to be a valid one: a task that there is, and sessions that live. */
export interface Things {
  readonly taskId: string
  /** A live session's id; a new one each time, since a call may end it. */
  readonly workerId: () => string
}

/** All routes of the contract, with those that take no store last. */
export const routes: readonly Route[] = routeList

/** Answered by computing alone, where no key has to be looked up. */
const computed: readonly OperationId[] = ['previewSchedule']

/** Probes, figures and documents: they answer without the store, but for the one that says whether it is there. */
export const needsStore = ({ operationId, tag, problems }: Route): boolean =>
  !computed.includes(operationId) && (tag !== 'system' || problems.includes('store_unavailable'))

/** Makes a valid call of the route, from its path and the example of its body, which waits for nothing. */
export async function callRoute(api: Api, route: Route, things: Things): Promise<RouteAnswer> {
  const params = route.params === undefined ? {} : (exampleOf(route.params, 'required') as Record<string, string>)
  const path = route.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    if (name === 'task_id') return things.taskId
    return name === 'worker_id' ? things.workerId() : encodeURIComponent(params[name] ?? '')
  })
  const body = route.body === undefined ? undefined : JSON.stringify(bodyOf(route.body, things))
  const beganMs = performance.now()
  const response = await fetch(`${api.url}${path}`, {
    method: route.method,
    ...(body === undefined ? {} : { body, headers: { 'content-type': 'application/json' } }),
  })
  const text = await response.text()
  const contentType = response.headers.get('content-type') ?? ''
  return {
    status: response.status,
    retryAfter: Number(response.headers.get('retry-after')),
    contentType,
    code: contentType.startsWith('application/problem+json') ? JSON.parse(text).code : null,
    ms: performance.now() - beganMs,
  }
}

function bodyOf(schema: object, { taskId }: Things): unknown {
  const example = exampleOf(schema, 'required') as Record<string, unknown>
  const report = { task_id: taskId, lease: '1-000000000000000f', outcome: 'succeeded', result: null }
  return {
    ...example,
    ...('wait_seconds' in example ? { wait_seconds: 0 } : {}),
    // a poll for no slot only acknowledges
    ...('slots' in example ? { slots: 1 } : {}),
    ...('dry_run' in example ? { dry_run: false } : {}),
    ...('reports' in example ? { reports: [report] } : {}),
  }
}

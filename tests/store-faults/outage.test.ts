import { describe, expect, test } from 'vitest'
import { startHttpNode, until } from '../../packages/server/src/dispatch/testing/http-node.js'
import { startOwnPostgres } from '../support/own-postgres.js'
import { callRoute, needsStore, type Route, routes } from './every-route.js'

/** No call hangs until a socket gives up, which takes minutes. */
const boundMs = 30_000

const setUp = async () => {
  const postgres = await startOwnPostgres()
  const node = await startHttpNode(postgres.url)
  const { api } = node
  const { task_id: taskId } = await api.submit()
  const sessions: string[] = []
  for (let n = 0; n < routes.length * 4; n++) sessions.push((await api.worker()).id)
  const things = { taskId, workerId: () => sessions.pop() ?? '' }
  return { postgres, api, things, call: (route: Route) => callRoute(api, route, things) }
}

describe('while PostgreSQL is away', async () => {
  const { postgres, api, things, call } = await setUp()
  const isReady = async () => (await fetch(`${api.url}/readyz`)).status === 200

  test('each route answers in time with 503 and Retry-After, those that need no store answer, and all come back', async () => {
    // a call that is wrong in itself would be refused with 400, whatever the store does
    for (const route of routes) expect([route.operationId, (await call(route)).status]).not.toContain(400)
    const holder = await api.worker()
    const held = [
      api.call('GET', `/tasks/${things.taskId}?wait_seconds=4`),
      api.call('POST', `/workers/${holder.id}/poll`, { slots: 1, wait_seconds: 4, received: 0 }),
      api.call('POST', `/workers/${holder.id}/heartbeat`, { leases: [], wait_seconds: 4, received: 0 }),
    ]

    await postgres.stop('fast')
    await until('the node sees it', async () => !(await isReady()))
    // one look, so that no poll is answered by what was known before
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    for (const route of routes) {
      const answer = await call(route)
      const { operationId } = route
      expect({ operationId, ...answer }).toMatchObject(
        needsStore(route)
          ? {
              operationId,
              status: 503,
              code: 'store_unavailable',
              contentType: expect.stringContaining('problem+json'),
            }
          : { operationId, status: 200 },
      )
      if (needsStore(route)) expect(answer.retryAfter).toBeGreaterThanOrEqual(1)
      expect(answer.ms).toBeLessThan(boundMs)
    }
    for (const { status } of await Promise.all(held)) expect([200, 503]).toContain(status)

    await postgres.start()
    await until('the node is ready again', isReady)
    for (const route of routes) {
      await until(`${route.operationId} works again`, async () => (await call(route)).status !== 503)
    }
  })
})

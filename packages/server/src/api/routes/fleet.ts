import { isUuid } from '@duly/domain'
import type { FastifyInstance } from 'fastify'
import { actorOf, requireUnbound } from '../caller.js'
import type { ApiContext } from '../context.js'
import { mount } from '../mount.js'
import { readPage, writePage } from '../page.js'
import { workerOf } from '../write-fleet.js'
import { writeJson } from '../write-json.js'

/** The workers as operators see them; their own protocol is in workers.ts. */
export function registerFleet(app: FastifyInstance, context: ApiContext): void {
  const { fleet } = context.services
  mount(app, context, 'listWorkers', {
    handle: async ({ query, caller }) => {
      const state = query.state ?? null
      const list = `workers:${state ?? ''}`
      const page = await fleet.list({ tenant: caller.tenant, state }, readPage(list, query, isUuid))
      return { status: 200, json: writePage(list, page, workerOf) }
    },
  })
  mount(app, context, 'getWorker', {
    handle: async ({ id, caller }) => ({ status: 200, json: writeJson(workerOf(await fleet.get(id, caller.tenant))) }),
  })
  mount(app, context, 'drainWorker', {
    handle: async (input) => {
      requireUnbound(input.caller)
      return { status: 200, json: writeJson(workerOf(await fleet.drain(input.id, actorOf(input)))) }
    },
  })
}

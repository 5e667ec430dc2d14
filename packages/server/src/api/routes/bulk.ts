import { isUuid } from '@duly/domain'
import type { FastifyInstance } from 'fastify'
import { bulkErrors } from '../bulk-rules.js'
import { actorOf } from '../caller.js'
import type { ApiContext } from '../context.js'
import { mount } from '../mount.js'
import { readPage, writePage } from '../page.js'
import { toTaskFilters } from '../to-filters.js'
import { bulkOf, writeBulkPreview } from '../write-bulk.js'
import { writeJson } from '../write-json.js'

/** Operations on many tasks. */
export function registerBulk(app: FastifyInstance, context: ApiContext): void {
  const { bulk } = context.services
  mount(app, context, 'changeTasks', {
    rules: ({ value }) => bulkErrors(value),
    handle: async ({ body, ...call }) => {
      const { tenant } = call.caller
      const order = { action: body.action, source: 'tasks', filters: toTaskFilters(body.filter ?? {}) } as const
      if (body.dry_run) return { status: 200, json: writeBulkPreview(await bulk.preview(order, tenant)) }
      return { status: 202, json: writeJson(bulkOf(await bulk.start(order, tenant, actorOf(call)))) }
    },
  })
  mount(app, context, 'listBulkOperations', {
    handle: async ({ query, caller }) => {
      const list = JSON.stringify(['bulk', caller.tenant])
      const page = await bulk.list(caller.tenant, readPage(list, query, isUuid))
      return { status: 200, json: writePage(list, page, bulkOf) }
    },
  })
  mount(app, context, 'getBulkOperation', {
    handle: async ({ id, query, ...call }) => {
      const { tenant } = call.caller
      const waitMs = Math.round((query.wait_seconds ?? 0) * 1_000)
      if (waitMs === 0) return { status: 200, json: writeJson(bulkOf(await bulk.get(id, tenant))) }
      const record = await context.waits.hold(call, (signal) => bulk.getFinished(id, tenant, { waitMs, signal }))
      return { status: 200, json: writeJson(bulkOf(record)) }
    },
  })
  mount(app, context, 'cancelBulkOperation', {
    handle: async ({ id, ...call }) => ({
      status: 200,
      json: writeJson(bulkOf(await bulk.cancel(id, call.caller.tenant, actorOf(call)))),
    }),
  })
}

import type { FastifyInstance } from 'fastify'
import { actorOf } from '../caller.js'
import type { ApiContext } from '../context.js'
import { mount } from '../mount.js'
import { readPage, writePage } from '../page.js'
import { toLetterFilters } from '../to-filters.js'
import { bulkOf } from '../write-bulk.js'
import { letterOf, writeLetterSummary } from '../write-dead-letter.js'
import { writeJson } from '../write-json.js'
import { writeTask } from '../write-task.js'

const defaultGroups = 50

/** The key of a page: when a letter was written, to the microsecond, and its task. */
const isPlace = (text: string): boolean =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)

/** Tasks whose retries are used up. */
export function registerDeadLetters(app: FastifyInstance, context: ApiContext): void {
  const { deadLetters, bulk } = context.services
  mount(app, context, 'listDeadLetters', {
    handle: async ({ query, caller }) => {
      const filters = toLetterFilters(query)
      const list = JSON.stringify(['dead letters', caller.tenant, filters])
      const page = await deadLetters.list(filters, caller.tenant, readPage(list, query, isPlace))
      return { status: 200, json: writePage(list, page, letterOf) }
    },
  })
  mount(app, context, 'summarizeDeadLetters', {
    handle: async ({ query, caller }) => {
      const { limit = defaultGroups, ...filters } = query
      const summary = await deadLetters.summary(toLetterFilters(filters), caller.tenant, limit)
      return { status: 200, json: writeLetterSummary(summary) }
    },
  })
  mount(app, context, 'retryDeadLetter', {
    handle: async ({ id, ...call }) => {
      const record = await deadLetters.retry(id, call.caller.tenant, actorOf(call))
      return { status: 200, json: writeTask(record) }
    },
  })
  for (const [route, action] of [
    ['retryDeadLetters', 'retry'],
    ['discardDeadLetters', 'discard'],
  ] as const) {
    mount(app, context, route, {
      handle: async ({ query, ...call }) => {
        const order = { action, source: 'dead_letters', filters: toLetterFilters(query) } as const
        const record = await bulk.start(order, call.caller.tenant, actorOf(call))
        return { status: 202, json: writeJson(bulkOf(record)) }
      },
    })
  }
  mount(app, context, 'discardDeadLetter', {
    handle: async ({ id, ...call }) => {
      await deadLetters.discard(id, call.caller.tenant, actorOf(call))
      return { status: 204 }
    },
  })
}

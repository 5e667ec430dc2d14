import type { EditTaskBody } from '@duly/contract'
import { isUuid, priorityCode } from '@duly/domain'
import type { FastifyInstance } from 'fastify'
import type { JsonText, TaskEdit } from '../../model.js'
import { actorOf } from '../caller.js'
import type { ApiContext } from '../context.js'
import { parseInstant } from '../instant.js'
import { mount } from '../mount.js'
import { readPage, writePage } from '../page.js'
import { sizeError } from '../submission-rules.js'
import { toTaskFilters } from '../to-filters.js'
import { runOf, summaryOf, writeTask } from '../write-task.js'

const isRun = (text: string): boolean => /^\d{1,9}$/.test(text)

function toEdit(body: EditTaskBody, payload: JsonText | undefined): TaskEdit {
  const { scheduled_at: scheduledAt, priority, queue, max_retries: maxRetries, timeout_seconds: timeout } = body
  return {
    ...(scheduledAt === undefined ? {} : { scheduledAtMs: scheduledAt === null ? null : parseInstant(scheduledAt) }),
    ...(priority === undefined ? {} : { priority: priorityCode(priority) }),
    ...(payload === undefined ? {} : { payload }),
    ...(queue === undefined ? {} : { queue }),
    ...(maxRetries === undefined ? {} : { maxRetries }),
    ...(timeout === undefined ? {} : { timeoutMs: Math.round(timeout * 1_000) }),
  }
}

/** Lists of tasks and of their runs, and edits. */
export function registerTaskLists(app: FastifyInstance, context: ApiContext): void {
  const { services, config } = context
  const { tasks } = services
  mount(app, context, 'listTasks', {
    handle: async ({ query, caller }) => {
      const filters = toTaskFilters(query)
      const list = JSON.stringify(['tasks', caller.tenant, filters])
      const page = await tasks.list(filters, caller.tenant, readPage(list, query, isUuid))
      return { status: 200, json: writePage(list, page, summaryOf) }
    },
  })
  mount(app, context, 'editTask', {
    captures: [{ path: 'payload', opaque: true }],
    rules: ({ captures }) => sizeError('payload', captures.text('payload'), config.payloadMaxBytes),
    handle: async ({ id, body, captures, ...call }) => {
      const edit = toEdit(body, captures.text('payload'))
      const record = await tasks.edit(id, call.caller.tenant, { edit, actor: actorOf(call) })
      return { status: 200, json: writeTask(record) }
    },
  })
  mount(app, context, 'listRuns', {
    handle: async ({ id, query, caller }) => {
      const list = `runs ${id}`
      const page = await tasks.runs(id, caller.tenant, readPage(list, query, isRun))
      return { status: 200, json: writePage(list, page, runOf) }
    },
  })
}

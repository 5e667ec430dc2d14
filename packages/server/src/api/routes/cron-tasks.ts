import { isUuid, limits } from '@duly/domain'
import type { FastifyInstance } from 'fastify'
import type { ApiContext } from '../context.js'
import { cronCaptures, crontabErrors, scheduleErrors, templateErrors } from '../cron-rules.js'
import { mount } from '../mount.js'
import { readPage, writePage } from '../page.js'
import { fireTimesCount, toCronEdit, toCronFilters, toDefinition, toImport, toPreview } from '../to-cron.js'
import { ownTenant } from '../to-new-task.js'
import { cronOf, fireTimesOf, firingOf, writeCron, writeImported } from '../write-cron.js'
import { writeJson } from '../write-json.js'
import { writeSubmitted } from '../write-task.js'

const isFireTime = (text: string): boolean => /^\d{1,15}$/.test(text) && Number(text) <= limits.instantMaxMs

/** Recurring tasks. */
export function registerCronTasks(app: FastifyInstance, context: ApiContext): void {
  registerDefinitions(app, context)
  registerEdits(app, context)
  registerReads(app, context)
  registerTimes(app, context)
}

function registerDefinitions(app: FastifyInstance, context: ApiContext): void {
  const { services, config } = context
  const { cron } = services
  mount(app, context, 'createCronTask', {
    captures: cronCaptures,
    rules: ({ value, captures }) => [
      ...scheduleErrors(value),
      ...templateErrors(value, captures, config.payloadMaxBytes),
    ],
    handle: async ({ body, captures, caller }) => {
      const definition = toDefinition(body, { captures, tenant: caller.tenant })
      const record = await cron.create({ ...definition, name: body.name, enabled: body.enabled ?? true })
      return { status: 201, json: writeCron(record) }
    },
  })
  mount(app, context, 'putCronTask', {
    captures: cronCaptures,
    rules: ({ value, captures }) => [
      ...scheduleErrors(value),
      ...templateErrors(value, captures, config.payloadMaxBytes),
    ],
    handle: async ({ body, captures, params, caller }) => {
      const definition = toDefinition(body, { captures, tenant: caller.tenant })
      const put = { ...definition, name: params.cron_name, enabled: body.enabled ?? null }
      const { record, result } = await cron.put(put)
      return { status: result === 'created' ? 201 : 200, json: writeCron(record) }
    },
  })
  mount(app, context, 'importCrontab', {
    captures: cronCaptures,
    rules: ({ value, captures }) => [
      ...crontabErrors(value),
      ...templateErrors(value, captures, config.payloadMaxBytes),
    ],
    handle: async ({ body, captures, caller }) => {
      const lines = await cron.import(toImport(body, { captures, tenant: caller.tenant }))
      return { status: 200, json: writeImported(lines) }
    },
  })
}

function registerEdits(app: FastifyInstance, context: ApiContext): void {
  const { services, config } = context
  const { cron } = services
  mount(app, context, 'editCronTask', {
    captures: cronCaptures,
    rules: ({ value, captures }) => [
      ...scheduleErrors(value, true),
      ...templateErrors(value, captures, config.payloadMaxBytes),
    ],
    handle: async ({ id, body, captures, caller }) => ({
      status: 200,
      json: writeCron(await cron.edit(id, caller.tenant, toCronEdit(body, captures))),
    }),
  })
  for (const [operation, enabled] of [
    ['pauseCronTask', false],
    ['resumeCronTask', true],
  ] as const) {
    mount(app, context, operation, {
      handle: async ({ id, caller }) => ({
        status: 200,
        json: writeCron(await cron.edit(id, caller.tenant, { enabled, template: {} })),
      }),
    })
  }
  mount(app, context, 'deleteCronTask', {
    handle: async ({ id, caller }) => {
      await cron.remove(id, caller.tenant)
      return { status: 204 }
    },
  })
  mount(app, context, 'triggerCronTask', {
    handle: async ({ id, caller }) => ({ status: 202, json: writeSubmitted(await cron.trigger(id, caller.tenant)) }),
  })
}

function registerReads(app: FastifyInstance, context: ApiContext): void {
  const { cron } = context.services
  mount(app, context, 'listCronTasks', {
    handle: async ({ query, caller }) => {
      const filters = toCronFilters(query)
      const list = JSON.stringify(['cron-tasks', caller.tenant, filters])
      const page = await cron.list(filters, caller.tenant, readPage(list, query, isUuid))
      return { status: 200, json: writePage(list, page, cronOf) }
    },
  })
  mount(app, context, 'getCronTask', {
    handle: async ({ id, caller }) => ({ status: 200, json: writeCron(await cron.get(id, caller.tenant)) }),
  })
  mount(app, context, 'getCronTaskByName', {
    handle: async ({ params, query, caller }) => {
      const tenant = ownTenant('tenant_id', query.tenant_id, caller.tenant)
      return { status: 200, json: writeCron(await cron.getByName(tenant, params.cron_name)) }
    },
  })
  mount(app, context, 'listFirings', {
    handle: async ({ id, query, caller }) => {
      const list = `firings ${id}`
      const page = await cron.firings(id, caller.tenant, readPage(list, query, isFireTime))
      return { status: 200, json: writePage(list, page, firingOf) }
    },
  })
}

function registerTimes(app: FastifyInstance, context: ApiContext): void {
  const { cron } = context.services
  mount(app, context, 'listFireTimes', {
    handle: async ({ id, query, caller }) => {
      const times = await cron.fireTimes(id, caller.tenant, fireTimesCount(query.count))
      return { status: 200, json: writeJson({ fire_times: fireTimesOf(times) }) }
    },
  })
  mount(app, context, 'previewSchedule', {
    rules: ({ value }) => scheduleErrors(value),
    handle: async ({ body }) => {
      const { fireTimesMs, description } = cron.preview(toPreview(body))
      return { status: 200, json: writeJson({ fire_times: fireTimesOf(fireTimesMs), description }) }
    },
  })
}

import type { FastifyInstance } from 'fastify'
import type { PollRequest } from '../../model.js'
import type { ApiContext } from '../context.js'
import { mount } from '../mount.js'
import { toHeartbeat, toRegistration, toReports } from '../to-report.js'
import { checkpointErrors, reportsErrors } from '../worker-rules.js'
import { writeExchange, writeGrants, writeHeartbeat, writeReportResults, writeSession } from '../write-worker.js'

const results = [{ path: 'reports[*].result', opaque: true }]
/** Error texts are cleaned and cut; to refuse one would lose the outcome that it explains. */
const errorTexts = /^reports\[\d+\]\.error\./
const handlerTexts = /^progress\[\d+\]\.note$|^logs\[\d+\]\.message$/

function toPoll(body: { slots: number; wait_seconds?: number; received?: number }): PollRequest {
  return { slots: body.slots, waitMs: Math.round((body.wait_seconds ?? 0) * 1_000), received: body.received ?? 0 }
}

export function registerWorkers(app: FastifyInstance, context: ApiContext): void {
  registerSessions(app, context)
  registerWork(app, context)
}

function registerSessions(app: FastifyInstance, context: ApiContext): void {
  const { workers } = context.services
  mount(app, context, 'registerWorker', {
    handle: async ({ body }) => ({ status: 201, json: writeSession(await workers.register(toRegistration(body))) }),
  })
  mount(app, context, 'heartbeat', {
    captures: [{ path: 'checkpoints[*].value', opaque: true }],
    lenient: handlerTexts,
    rules: ({ value, captures }) => checkpointErrors(value, captures),
    handle: async ({ id, body, captures, reply }) => {
      const beat = toHeartbeat(body, captures)
      const answer = await context.waits.hold(reply.raw, (signal) => workers.heartbeat(id, beat, signal))
      return { status: 200, json: writeHeartbeat(answer) }
    },
  })
  mount(app, context, 'leave', {
    handle: async ({ id }) => {
      await workers.leave(id)
      return { status: 204 }
    },
  })
}

function registerWork(app: FastifyInstance, context: ApiContext): void {
  const { services, config, waits } = context
  const { workers } = services
  mount(app, context, 'pollTasks', {
    handle: async ({ id, body, reply }) => {
      const tasks = await waits.hold(reply.raw, (signal) => workers.poll(id, toPoll(body), signal))
      return { status: 200, json: writeGrants(tasks) }
    },
  })
  mount(app, context, 'reportOutcomes', {
    captures: results,
    lenient: errorTexts,
    rules: ({ value, captures }) => reportsErrors(value, captures, config.resultMaxBytes),
    handle: async ({ id, body, captures }) => {
      const verdicts = await workers.report(id, toReports(body.reports, captures))
      return { status: 200, json: writeReportResults(verdicts) }
    },
  })
  mount(app, context, 'exchange', {
    captures: results,
    lenient: errorTexts,
    rules: ({ value, captures }) => reportsErrors(value, captures, config.resultMaxBytes),
    handle: async ({ id, body, captures, reply }) => {
      const reports = toReports(body.reports ?? [], captures)
      const answer = await waits.hold(reply.raw, (signal) => workers.exchange(id, reports, toPoll(body), signal))
      return { status: 200, json: writeExchange(answer.results, answer.tasks) }
    },
  })
}

import { type Caller, decodeId, limits, type Uuid } from '@duly/domain'
import type { FastifyInstance } from 'fastify'
import type { PollRequest, SessionRef } from '../../model.js'
import type { ApiContext } from '../context.js'
import { mount } from '../mount.js'
import { toHeartbeat, toRegistration, toReports } from '../to-report.js'
import { checkpointErrors, reportsErrors } from '../worker-rules.js'
import { writeExchange, writeGrants, writeHeartbeat, writeReportResults, writeSession } from '../write-worker.js'
import { writeDependencyResults } from '../write-workflow.js'

/** Error texts are cleaned and cut; to refuse one would lose the outcome that it explains. */
const errorTexts = /^reports\[\d+\]\.error\./
const handlerTexts = /^progress\[\d+\]\.note$|^logs\[\d+\]\.message$/

function toPoll(body: { slots: number; wait_seconds?: number; received?: number }): PollRequest {
  return { slots: body.slots, waitMs: Math.round((body.wait_seconds ?? 0) * 1_000), received: body.received ?? 0 }
}

/** The session that a call names, with the binding of its key. */
const sessionOf = ({ id, caller }: { id: Uuid; caller: Caller }): SessionRef => ({ id, tenant: caller.tenant })

export function registerWorkers(app: FastifyInstance, context: ApiContext): void {
  registerSessions(app, context)
  registerWork(app, context)
}

function registerSessions(app: FastifyInstance, context: ApiContext): void {
  const { workers } = context.services
  mount(app, context, 'registerWorker', {
    handle: async ({ body, caller }) => {
      const session = await workers.register(toRegistration(body), caller.tenant)
      return { status: 201, json: writeSession(session) }
    },
  })
  mount(app, context, 'heartbeat', {
    captures: [{ path: 'checkpoints[*].value', opaque: true, maxBytes: limits.checkpointMaxBytes }],
    lenient: handlerTexts,
    rules: ({ value, captures }) => checkpointErrors(value, captures),
    handle: async ({ body, captures, ...call }) => {
      const beat = toHeartbeat(body, captures)
      const answer = await context.waits.hold(call, (signal) => workers.heartbeat(sessionOf(call), beat, signal))
      return { status: 200, json: writeHeartbeat(answer) }
    },
  })
  mount(app, context, 'fetchDependencyResults', {
    handle: async ({ body, ...call }) => {
      const request = { id: decodeId('task', body.task_id), lease: body.lease, names: body.names }
      const found = await workers.dependencyResults(sessionOf(call), request)
      return { status: 200, json: writeDependencyResults(found) }
    },
  })
  mount(app, context, 'leave', {
    handle: async (call) => {
      await workers.leave(sessionOf(call))
      return { status: 204 }
    },
  })
}

function registerWork(app: FastifyInstance, context: ApiContext): void {
  const { services, config, waits } = context
  const { workers } = services
  const results = [{ path: 'reports[*].result', opaque: true, maxBytes: config.resultMaxBytes }]
  mount(app, context, 'pollTasks', {
    handle: async ({ body, ...call }) => {
      const tasks = await waits.hold(call, (signal) => workers.poll(sessionOf(call), toPoll(body), signal))
      return { status: 200, json: writeGrants(tasks) }
    },
  })
  mount(app, context, 'reportOutcomes', {
    captures: results,
    lenient: errorTexts,
    rules: ({ value, captures }) => reportsErrors(value, captures, config.resultMaxBytes),
    handle: async ({ body, captures, ...call }) => {
      const verdicts = await workers.report(sessionOf(call), toReports(body.reports, captures))
      return { status: 200, json: writeReportResults(verdicts) }
    },
  })
  mount(app, context, 'exchange', {
    captures: results,
    lenient: errorTexts,
    rules: ({ value, captures }) => reportsErrors(value, captures, config.resultMaxBytes),
    handle: async ({ body, captures, ...call }) => {
      const reports = toReports(body.reports ?? [], captures)
      const answer = await waits.hold(call, (signal) =>
        workers.exchange(sessionOf(call), reports, toPoll(body), signal),
      )
      return { status: 200, json: writeExchange(answer.results, answer.tasks) }
    },
  })
}

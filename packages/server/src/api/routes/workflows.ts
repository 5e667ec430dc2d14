import { isUuid } from '@duly/domain'
import type { FastifyInstance } from 'fastify'
import { accepted } from '../accepted.js'
import { actorOf } from '../caller.js'
import type { ApiContext } from '../context.js'
import { headerKeyErrors, idempotencyHeader } from '../idempotency-header.js'
import { mount } from '../mount.js'
import { readPage, writePage } from '../page.js'
import { toAddition, toNewWorkflow, toWorkflowFilters } from '../to-workflow.js'
import { traceparentOf } from '../traceparent.js'
import { addedErrors, graphErrors, nodeCaptures, nodesErrors, workflowErrors } from '../workflow-rules.js'
import { writeJson } from '../write-json.js'
import { workflowOf, writeAddedNodes, writeSubmittedWorkflow, writeWorkflow } from '../write-workflow.js'

/** Graphs of tasks. */
export function registerWorkflows(app: FastifyInstance, context: ApiContext): void {
  registerSubmit(app, context)
  registerReads(app, context)
  registerActions(app, context)
  registerAddition(app, context)
}

function registerSubmit(app: FastifyInstance, context: ApiContext): void {
  const { services, config } = context
  mount(app, context, 'submitWorkflow', {
    captures: [...nodeCaptures, { path: 'metadata', opaque: false }],
    rules: ({ value, captures }, request) => [
      ...workflowErrors(captures),
      ...nodesErrors(value, captures, config.payloadMaxBytes),
      ...graphErrors(value, { mayNameOthers: false }),
      ...headerKeyErrors(request, value),
    ],
    handle: async ({ body, captures, request, caller }) => {
      const workflow = await toNewWorkflow(body, {
        captures,
        idempotencyKey: idempotencyHeader(request),
        traceparent: traceparentOf(request),
        caller,
      })
      const submitted = await services.workflows.submit(workflow)
      return accepted(writeSubmittedWorkflow(submitted), submitted.replayed)
    },
  })
}

function registerReads(app: FastifyInstance, context: ApiContext): void {
  const { workflows } = context.services
  mount(app, context, 'listWorkflows', {
    handle: async ({ query, caller }) => {
      const filters = toWorkflowFilters(query)
      const list = JSON.stringify(['workflows', caller.tenant, filters])
      const page = await workflows.list(filters, caller.tenant, readPage(list, query, isUuid))
      return { status: 200, json: writePage(list, page, workflowOf) }
    },
  })
  mount(app, context, 'getWorkflow', {
    handle: async ({ id, query, ...call }) => {
      const { tenant } = call.caller
      const waitMs = Math.round((query.wait_seconds ?? 0) * 1_000)
      if (waitMs === 0) return { status: 200, json: await workflows.read(id, tenant, writeWorkflow) }
      const json = await context.waits.hold(call, (signal) =>
        workflows.readFinished(id, tenant, { waitMs, signal }, writeWorkflow),
      )
      return { status: 200, json }
    },
  })
}

function registerActions(app: FastifyInstance, context: ApiContext): void {
  const { workflows } = context.services
  mount(app, context, 'cancelWorkflow', {
    handle: async ({ id, ...call }) => {
      const workflow = await workflows.cancel(id, call.caller.tenant, actorOf(call))
      return { status: workflow.open > 0 ? 202 : 200, json: writeJson(workflowOf(workflow)) }
    },
  })
  mount(app, context, 'retryWorkflow', {
    handle: async ({ id, ...call }) => {
      return { status: 200, json: await workflows.retry(id, call.caller.tenant, actorOf(call), writeWorkflow) }
    },
  })
}

function registerAddition(app: FastifyInstance, context: ApiContext): void {
  const { services, config } = context
  mount(app, context, 'addWorkflowTasks', {
    captures: nodeCaptures,
    rules: ({ value, captures }) => [
      ...nodesErrors(value, captures, config.payloadMaxBytes),
      ...addedErrors(value),
      ...graphErrors(value, { mayNameOthers: true }),
    ],
    handle: async ({ id, body, captures, request, caller }) => {
      const texts = { captures, idempotencyKey: undefined, traceparent: traceparentOf(request), caller }
      const added = await services.workflows.addNodes(id, caller.tenant, await toAddition(body, texts))
      return { status: added.nodes.some(({ isNew }) => isNew) ? 202 : 200, json: writeAddedNodes(id, added) }
    },
  })
}

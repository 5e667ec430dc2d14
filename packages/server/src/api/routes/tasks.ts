import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Submitted } from '../../model.js'
import { accepted } from '../accepted.js'
import { actorOf } from '../caller.js'
import type { ApiContext } from '../context.js'
import { headerKeyErrors, idempotencyHeader } from '../idempotency-header.js'
import { mount } from '../mount.js'
import { inStretches } from '../stretch.js'
import { batchPlace, singlePlace, submissionErrors } from '../submission-rules.js'
import { toNewTask } from '../to-new-task.js'
import { traceparentOf } from '../traceparent.js'
import {
  writeAttempts,
  writeCancelled,
  writeEvents,
  writeSubmitted,
  writeSubmittedBatch,
  writeTask,
} from '../write-task.js'

export function registerTasks(app: FastifyInstance, context: ApiContext): void {
  registerSubmit(app, context)
  registerBatch(app, context)
  registerReads(app, context)
  registerActions(app, context)
}

function registerSubmit(app: FastifyInstance, context: ApiContext): void {
  const { services, config } = context
  mount(app, context, 'submitTask', {
    captures: [
      { path: 'payload', opaque: true },
      { path: 'metadata', opaque: false },
    ],
    rules: ({ value, captures }, request) => [
      ...submissionErrors(value, singlePlace(captures), config.payloadMaxBytes),
      ...headerKeyErrors(request, value),
    ],
    handle: async ({ body, text, captures, request, caller }) => {
      const task = toNewTask(body, {
        request: text,
        payload: captures.text('payload'),
        metadata: captures.text('metadata'),
        idempotencyKey: idempotencyHeader(request),
        traceparent: traceparentOf(request),
        caller,
      })
      const submitted = await services.intake.submit(task)
      return accepted(writeSubmitted(submitted), submitted.replayed)
    },
  })
}

function registerBatch(app: FastifyInstance, context: ApiContext): void {
  const { services, config } = context
  mount(app, context, 'submitBatch', {
    captures: [
      { path: 'tasks[*]', opaque: false },
      { path: 'tasks[*].payload', opaque: true, maxBytes: config.payloadMaxBytes },
      { path: 'tasks[*].metadata', opaque: false },
    ],
    rules: ({ value, captures }, request) => [
      ...itemsOf(value).flatMap((item, index) =>
        submissionErrors(item, batchPlace(captures, index), config.payloadMaxBytes),
      ),
      ...batchHeaderErrors(request),
    ],
    handle: async ({ body, captures, request, caller }) => {
      const shared = { idempotencyKey: undefined, traceparent: traceparentOf(request), caller }
      const tasks = await inStretches(body.tasks, (item, index) => {
        const text = captures.text('tasks[*]', index) ?? ''
        const made = toNewTask(item, { request: text, ...batchPlace(captures, index), ...shared })
        return { made, hashed: item.idempotency_key === undefined ? 0 : text.length }
      })
      const submitted: readonly Submitted[] = await services.intake.submitBatch(tasks)
      return accepted(
        writeSubmittedBatch(submitted),
        submitted.every((task) => task.replayed),
      )
    },
  })
}

function itemsOf(value: unknown): readonly unknown[] {
  const tasks = typeof value === 'object' && value !== null ? (value as { readonly tasks?: unknown }).tasks : undefined
  return Array.isArray(tasks) ? tasks : []
}

/** A batch has a key per item; a key for the whole would be dropped silently, so it is refused. */
function batchHeaderErrors(request: FastifyRequest) {
  if (request.headers['idempotency-key'] === undefined) return []
  return [{ path: 'Idempotency-Key', message: 'is not taken for a batch; give each item its idempotency_key' }]
}

function registerReads(app: FastifyInstance, context: ApiContext): void {
  const { tasks } = context.services
  mount(app, context, 'getTask', {
    handle: async ({ id, query, ...call }) => {
      const { tenant } = call.caller
      const waitMs = Math.round((query.wait_seconds ?? 0) * 1_000)
      if (waitMs === 0) return { status: 200, json: writeTask(await tasks.get(id, tenant)) }
      const record = await context.waits.hold(call, (signal) => tasks.getFinished(id, tenant, { waitMs, signal }))
      return { status: 200, json: writeTask(record) }
    },
  })
  mount(app, context, 'listAttempts', {
    handle: async ({ id, caller }) => ({ status: 200, json: writeAttempts(await tasks.attempts(id, caller.tenant)) }),
  })
  mount(app, context, 'listEvents', {
    handle: async ({ id, caller }) => ({ status: 200, json: writeEvents(await tasks.events(id, caller.tenant)) }),
  })
}

function registerActions(app: FastifyInstance, context: ApiContext): void {
  const { tasks } = context.services
  mount(app, context, 'cancelTask', {
    handle: async ({ id, ...call }) => {
      const result = await tasks.cancel(id, call.caller.tenant, actorOf(call))
      return { status: result.status === 'CANCELLED' ? 200 : 202, json: writeCancelled(result) }
    },
  })
  mount(app, context, 'retryTask', {
    handle: async ({ id, ...call }) => {
      const record = await tasks.replay(id, call.caller.tenant, actorOf(call))
      return { status: 200, json: writeTask(record) }
    },
  })
}

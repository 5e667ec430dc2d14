import type { FastifyInstance } from 'fastify'
import { actorOf, requireUnbound } from '../caller.js'
import type { ApiContext } from '../context.js'
import { mount } from '../mount.js'
import { readPage, writePage } from '../page.js'
import { writeJson } from '../write-json.js'
import { queueOf } from '../write-queue.js'

export function registerQueues(app: FastifyInstance, context: ApiContext): void {
  const { queues } = context.services
  mount(app, context, 'listQueues', {
    handle: async ({ query, caller }) => {
      const page = await queues.list(caller.tenant, readPage('queues', query))
      return { status: 200, json: writePage('queues', page, queueOf) }
    },
  })
  mount(app, context, 'getQueue', {
    handle: async ({ params, caller }) => ({
      status: 200,
      json: writeJson(queueOf(await queues.get(params.queue_name, caller.tenant))),
    }),
  })
  registerActions(app, context)
}

/** What touches everybody whose tasks are in the queue. */
function registerActions(app: FastifyInstance, context: ApiContext): void {
  const { queues } = context.services
  mount(app, context, 'pauseQueue', {
    handle: async (input) => {
      requireUnbound(input.caller)
      const queue = await queues.pause(input.params.queue_name, actorOf(input))
      return { status: 200, json: writeJson({ ...queueOf(queue), created: queue.isNew }) }
    },
  })
  mount(app, context, 'resumeQueue', {
    handle: async (input) => {
      requireUnbound(input.caller)
      return { status: 200, json: writeJson(queueOf(await queues.resume(input.params.queue_name, actorOf(input)))) }
    },
  })
  mount(app, context, 'purgeQueue', {
    handle: async (input) => {
      requireUnbound(input.caller)
      const { cancelled, remaining, isComplete } = await queues.purge(input.params.queue_name, actorOf(input))
      return { status: 200, json: writeJson({ cancelled, remaining, complete: isComplete }) }
    },
  })
}

import type { FastifyInstance } from 'fastify'
import type { ApiContext } from '../context.js'
import { mount } from '../mount.js'
import { writeQueues } from '../write-task.js'

export function registerQueues(app: FastifyInstance, context: ApiContext): void {
  mount(app, context, 'listQueues', {
    handle: async ({ caller }) => ({
      status: 200,
      json: writeQueues(await context.services.queues.list(caller.tenant)),
    }),
  })
}

import type { FastifyInstance } from 'fastify'
import { requireUnbound } from '../caller.js'
import type { ApiContext } from '../context.js'
import { mount } from '../mount.js'
import { writeCluster } from '../write-cluster.js'

export function registerCluster(app: FastifyInstance, context: ApiContext): void {
  mount(app, context, 'getCluster', {
    handle: async ({ caller }) => {
      requireUnbound(caller)
      return { status: 200, json: writeCluster(await context.services.cluster.read()) }
    },
  })
}

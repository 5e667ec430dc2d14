import { statsWindow } from '@duly/contract'
import type { FastifyInstance } from 'fastify'
import type { ApiContext } from '../context.js'
import { mount } from '../mount.js'
import { writeStats } from '../write-stats.js'

export function registerStats(app: FastifyInstance, context: ApiContext): void {
  mount(app, context, 'getStats', {
    handle: async ({ query, caller }) => {
      const { window_seconds = statsWindow.default, by = null } = query
      const figures = await context.services.stats.read(caller.tenant, { windowMs: window_seconds * 1_000, by })
      return { status: 200, json: writeStats(figures) }
    },
  })
}

import type { FastifyInstance } from 'fastify'
import type { ApiContext } from '../context.js'
import { mount } from '../mount.js'
import { writeExplanation } from '../write-explain.js'

export function registerExplain(app: FastifyInstance, context: ApiContext): void {
  const { explainer } = context.services
  mount(app, context, 'explainTask', {
    handle: async ({ id, caller }) => {
      const explanation = await explainer.explain(id, caller.tenant)
      return { status: 200, json: writeExplanation(id, explanation) }
    },
  })
}

import { Stats, StatsQuery } from '../stats.js'
import { type ApiRouteGroup, apiBase } from './route.js'

export const statsRoutes = {
  getStats: {
    method: 'GET',
    path: `${apiBase}/stats`,
    tag: 'queues',
    summary: 'Rates, percentiles and counts of a window',
    description:
      'From sums that the nodes keep as they work, each at most some seconds behind. A caller that is bound to a tenant gets the figures of that tenant.',
    scope: 'read',
    query: StatsQuery,
    responses: { 200: { description: 'The figures.', schema: Stats } },
    problems: ['forbidden'],
  },
} as const satisfies ApiRouteGroup

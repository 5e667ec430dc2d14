import { Cluster } from '../cluster.js'
import { type ApiRouteGroup, apiBase } from './route.js'

export const clusterRoutes = {
  getCluster: {
    method: 'GET',
    path: `${apiBase}/cluster`,
    tag: 'cluster',
    summary: 'Nodes, partitions, leaders, shards and adapters',
    description: 'Of the whole deployment: it takes a key that is bound to no tenant.',
    scope: 'read',
    responses: { 200: { description: 'How the deployment stands.', schema: Cluster } },
    problems: ['forbidden'],
  },
} as const satisfies ApiRouteGroup

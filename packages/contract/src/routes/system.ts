import Type from 'typebox'
import { closed } from '../common.js'
import type { ApiRouteGroup } from './route.js'

const healthy = closed({ status: Type.String() })
const about = closed({
  name: Type.String(),
  version: Type.String(),
  links: Type.Record(Type.String(), Type.String(), { description: 'Paths by what stands there.' }),
})

export const systemRoutes = {
  about: {
    method: 'GET',
    path: '/',
    tag: 'system',
    summary: 'What answers here, and where the rest is',
    scope: null,
    responses: { 200: { description: 'Name, version and paths.', schema: about } },
    problems: ['not_served_here'],
  },
  healthz: {
    method: 'GET',
    path: '/healthz',
    tag: 'system',
    summary: 'Is the process alive',
    scope: null,
    responses: { 200: { description: 'It is.', schema: healthy } },
    problems: [],
  },
  readyz: {
    method: 'GET',
    path: '/readyz',
    tag: 'system',
    summary: 'Can it serve',
    scope: null,
    responses: { 200: { description: 'The store is reachable and migrated.', schema: healthy } },
    problems: ['store_unavailable', 'shutting_down'],
  },
  metrics: {
    method: 'GET',
    path: '/metrics',
    tag: 'system',
    summary: 'Metrics in the Prometheus text format',
    scope: 'read',
    description: 'They tell of every tenant, so the key must be bound to none.',
    responses: { 200: { description: 'The metrics of this node.', contentType: 'text/plain' } },
    problems: [],
  },
  openapi: {
    method: 'GET',
    path: '/openapi.json',
    tag: 'system',
    summary: 'This description, as OpenAPI 3.1',
    scope: null,
    responses: { 200: { description: 'The document.', contentType: 'application/json' } },
    problems: ['not_served_here'],
  },
  docs: {
    method: 'GET',
    path: '/docs',
    tag: 'system',
    summary: 'This description, as a page for people',
    scope: null,
    responses: { 200: { description: 'The page. It needs no network.', contentType: 'text/html' } },
    problems: ['not_served_here'],
  },
} as const satisfies ApiRouteGroup

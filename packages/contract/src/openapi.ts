import { type ErrorCode, errorCatalogue, scopes } from '@duly/domain'
import type { TSchema } from 'typebox'
import { componentName, components } from './components.js'
import { Problem } from './problems.js'
import { type ApiResponse, type ApiRoute, problemsOf, routeList } from './routes.js'
import { tagList } from './tags.js'

type JsonObject = { [key: string]: unknown }

/** A copy of a schema in which everything that has a name is a reference to it. `top`: not this schema itself. */
function referenced(value: unknown, top = false): unknown {
  if (Array.isArray(value)) return value.map((item) => referenced(item))
  if (typeof value !== 'object' || value === null) return value
  const name = top ? undefined : componentName(value)
  if (name !== undefined) return { $ref: `#/components/schemas/${name}` }
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, referenced(item)]))
}

interface ObjectSchema extends JsonObject {
  readonly properties?: Readonly<Record<string, JsonObject>>
  readonly required?: readonly string[]
}

function parametersOf(schema: TSchema | undefined, place: 'path' | 'query' | 'header'): JsonObject[] {
  const { properties = {}, required = [] } = (schema ?? {}) as ObjectSchema
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...rest } = property
    const isRequired = place === 'path' || required.includes(name)
    return { name, in: place, required: isRequired, ...(description ? { description } : {}), schema: referenced(rest) }
  })
}

function responseOf({ description, schema, contentType, stream, headers }: ApiResponse): JsonObject {
  const media = contentType ?? (schema ? 'application/json' : undefined)
  const body = schema ? { schema: referenced(schema) } : {}
  const headerEntries = Object.entries(headers ?? {}).map(([name, doc]) => [
    name,
    { description: doc, schema: { type: 'string' } },
  ])
  return {
    description,
    ...(headerEntries.length > 0 ? { headers: Object.fromEntries(headerEntries) } : {}),
    ...(media ? { content: { [media]: body, ...streamOf(stream) } } : {}),
  }
}

/** OpenAPI has no word for one record of many. */
const streamOf = (stream: ApiResponse['stream']): JsonObject =>
  stream ? { [stream.contentType]: { schema: referenced(stream.record) } } : {}

function problemResponses(route: ApiRoute): JsonObject {
  const byStatus = new Map<number, ErrorCode[]>()
  for (const code of problemsOf(route)) {
    const { status } = errorCatalogue[code]
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  const statuses = [...byStatus.keys()].sort((a, b) => a - b)
  return Object.fromEntries(statuses.map((status) => [status, problemResponse(status, byStatus.get(status) ?? [])]))
}

function problemResponse(status: number, codes: readonly ErrorCode[]): JsonObject {
  const retryAfter = { 'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer', minimum: 1 } } }
  return {
    description: codes.map((code) => `\`${code}\`: ${errorCatalogue[code].doc}`).join('\n\n'),
    ...(status === 429 || status === 503 ? { headers: retryAfter } : {}),
    content: { 'application/problem+json': { schema: referenced(Problem) } },
  }
}

function operationOf(operationId: string, route: ApiRoute): JsonObject {
  const parameters = [
    ...parametersOf(route.params, 'path'),
    ...parametersOf(route.query, 'query'),
    ...parametersOf(route.headers, 'header'),
  ]
  const responses = Object.entries(route.responses).map(([status, response]) => [status, responseOf(response)])
  return {
    operationId,
    tags: [route.tag],
    summary: route.summary,
    ...(route.description ? { description: route.description } : {}),
    // for a bearer token the list names the scopes that the key must have (one of them: admin includes all)
    security: route.scope === null ? [] : [{ apiKey: [route.scope] }],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(route.body
      ? { requestBody: { required: true, content: { 'application/json': { schema: referenced(route.body) } } } }
      : {}),
    responses: { ...Object.fromEntries(responses), ...problemResponses(route) },
  }
}

function pathsOf(): JsonObject {
  const paths: { [path: string]: JsonObject } = {}
  for (const route of routeList) {
    const path = paths[route.path] ?? {}
    path[route.method.toLowerCase()] = operationOf(route.operationId, route)
    paths[route.path] = path
  }
  return paths
}

const apiKey = {
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'duly_…',
  description: `An API key. Scopes: ${scopes.map(({ name, doc }) => `\`${name}\` ${doc}`).join('; ')}. A server that runs open takes calls without.`,
}

/** The OpenAPI 3.1 document, made from the schemas that validate: what it says is what the server does. */
export function openApiDocument(version = '0.1.0'): JsonObject {
  const schemas = Object.entries(components).map(([name, schema]) => [name, referenced(schema, true)])
  return {
    openapi: '3.1.0',
    info: {
      title: 'Duly',
      version,
      description: 'A distributed task scheduler. Errors are RFC 9457 problem documents with a stable `code`.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: tagList.map(({ name, doc }) => ({ name, description: doc })),
    paths: pathsOf(),
    components: { schemas: Object.fromEntries(schemas), securitySchemes: { apiKey } },
  }
}

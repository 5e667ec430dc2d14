import { type ApiRoute, apiRoutes, type OperationId } from '@duly/contract'
import type { FastifyInstance } from 'fastify'
import { createLogger } from '../../telemetry/logger.js'
import { createMetrics } from '../../telemetry/metrics.js'
import { buildApi } from '../build-api.js'
import type { ApiConfig } from '../config.js'
import { compileValidator } from '../validate.js'
import { MemoryServices } from './memory-services.js'

export interface TestApi {
  readonly app: FastifyInstance
  readonly services: MemoryServices
  /** Lines that were logged. */
  readonly log: string[]
  /** Posts a text as JSON and gives the answer. */
  post(path: string, body: string, headers?: Record<string, string>): ReturnType<TestApi['call']>
  call(request: {
    method: string
    url: string
    payload?: string | Buffer
    headers?: Record<string, string>
  }): Promise<TestAnswer>
}

export interface TestAnswer {
  readonly status: number
  readonly text: string
  readonly json: Record<string, unknown>
  readonly headers: Readonly<Record<string, unknown>>
}

/** An api on memory services, reached without a socket. */
export function testApi(config: ApiConfig = {}): TestApi {
  const services = new MemoryServices()
  const log: string[] = []
  const logger = createLogger({ level: 'debug', destination: { write: (line: string) => void log.push(line) } })
  const app = buildApi({ services, gate: null, config, logger, metrics: createMetrics({ process: false }) })
  const call: TestApi['call'] = async ({ method, url, payload, headers }) => {
    const answer = await app.inject({
      method: method as 'GET',
      url,
      ...(payload === undefined ? {} : { payload }),
      ...(headers === undefined ? {} : { headers }),
    })
    const isJson = String(answer.headers['content-type'] ?? '').includes('json')
    const json = isJson && answer.body !== '' ? (JSON.parse(answer.body) as Record<string, unknown>) : {}
    return { status: answer.statusCode, text: answer.body, json, headers: answer.headers }
  }
  const post: TestApi['post'] = (path, body, headers = {}) =>
    call({ method: 'POST', url: path, payload: body, headers: { 'content-type': 'application/json', ...headers } })
  return { app, services, log, post, call }
}

/** What the contract finds wrong with an answer of a route; empty when it keeps its word. */
export function contractErrors(operation: OperationId, status: number, body: unknown): readonly unknown[] {
  const route: ApiRoute = apiRoutes[operation]
  const schema = route.responses[status]?.schema
  return schema === undefined ? [`status ${status} has no schema`] : compileValidator(schema)(body)
}

/** The same of a record of an answer that is a stream. */
export function recordErrors(operation: OperationId, record: unknown): readonly unknown[] {
  const route: ApiRoute = apiRoutes[operation]
  const schema = route.responses[200]?.stream?.record
  return schema === undefined ? ['it has no stream'] : compileValidator(schema)(record)
}

/** The errors of a problem document as `path: message`. */
export function errorsOf(answer: { readonly json: Record<string, unknown> }): string[] {
  const errors = answer.json.errors as readonly { readonly path: string; readonly message: string }[]
  return errors.map(({ path, message }) => `${path}: ${message}`)
}

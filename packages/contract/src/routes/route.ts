import type { ErrorCode, Scope } from '@duly/domain'
import type { TSchema } from 'typebox'

/** The base of the versioned part of the API. */
export const apiBase = '/api/v1'

export interface ApiResponse {
  readonly description: string
  /** Absent: no body, or one that is not JSON. */
  readonly schema?: TSchema
  readonly contentType?: string
  /** What is answered to whoever accepts that type: records, one a line, written as things happen. */
  readonly stream?: { readonly contentType: string; readonly record: TSchema }
  readonly headers?: Readonly<Record<string, string>>
}

/** One route: what the server registers, what OpenAPI and the reference say, what the tests go through. */
export interface ApiRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** As in OpenAPI: `/api/v1/tasks/{task_id}`. */
  readonly path: string
  readonly tag: 'tasks' | 'workflows' | 'dlq' | 'bulk' | 'cron' | 'queues' | 'workers' | 'keys' | 'cluster' | 'system'
  readonly summary: string
  /** What a caller's key must be good for; null: anyone may call. */
  readonly scope: Scope | null
  readonly description?: string
  readonly params?: TSchema
  readonly query?: TSchema
  /** Headers that the route reads; others are ignored. */
  readonly headers?: TSchema
  readonly body?: TSchema
  /** `single` 2 MiB, `batch` 64 MiB. */
  readonly bodyLimit?: 'single' | 'batch'
  readonly responses: Readonly<Record<number, ApiResponse>>
  /** Codes of the problems that it answers, beside those that every route can. */
  readonly problems: readonly ErrorCode[]
}

/** The routes of one tag, by their operation ids. */
export type ApiRouteGroup = Readonly<Record<string, ApiRoute>>

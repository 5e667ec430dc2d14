import type { SubmitTaskBody } from '@duly/contract'
import { type Caller, DulyError, decodeId, defaultRetryPolicy, priorityCode, type TenantScope } from '@duly/domain'
import type { JsonText, NewTask } from '../model.js'
import { hashRequest } from './canonical-text.js'
import { parseInstant } from './instant.js'

/** What a submission has beside its parsed fields: the texts as the client wrote them, the headers and the caller. */
export interface SubmissionTexts {
  /** The whole submission, for the hash of a keyed one. */
  readonly request: JsonText
  readonly payload: JsonText | undefined
  readonly metadata: JsonText | undefined
  readonly idempotencyKey: string | undefined
  readonly traceparent: string | null
  /** Who submits it: the key, and the tenant that it is bound to. */
  readonly caller: Pick<Caller, 'keyId' | 'tenant'>
}

/** The tenant of a submission that names none, by a key that is bound to none. */
export const defaultTenant = 'default'
export const defaultQueue = 'default'
export const defaultTimeoutSeconds = 300

/** A submission, or what a recurring task makes its tasks of. */
type TaskFields = Omit<SubmitTaskBody, 'scheduled_at' | 'delay_seconds' | 'idempotency_key'> & Partial<SubmitTaskBody>

const toMs = (seconds: number): number => Math.round(seconds * 1_000)
const optionalMs = (seconds: number | undefined): number | null => (seconds === undefined ? null : toMs(seconds))
const optionalInstant = (text: string | null | undefined): number | null =>
  text === null || text === undefined ? null : parseInstant(text)

/**
 * Applies the table of defaults, the only place that does. The body must have passed its schema and its rules.
 * @throws DulyError `forbidden` when a bound key names another tenant
 */
export function toNewTask(body: TaskFields, texts: SubmissionTexts): NewTask {
  const { keyId, tenant } = texts.caller
  const idempotencyKey = body.idempotency_key ?? texts.idempotencyKey ?? null
  return {
    tenant: tenantOf(body, tenant),
    boundTo: tenant,
    submittedBy: keyId === null ? null : decodeId('key', keyId),
    taskType: body.task_type,
    queue: body.queue ?? defaultQueue,
    priority: priorityCode(body.priority ?? 'medium'),
    payload: texts.payload ?? 'null',
    metadata: texts.metadata ?? null,
    tags: body.tags ?? [],
    scheduledAtMs: optionalInstant(body.scheduled_at),
    delayMs: optionalMs(body.delay_seconds),
    expiresAtMs: optionalInstant(body.expires_at),
    ...retryOf(body),
    timeoutMs: toMs(body.timeout_seconds ?? defaultTimeoutSeconds),
    resultTtlMs: optionalMs(body.result_ttl_seconds),
    concurrencyKey: body.concurrency_key ?? null,
    idempotencyKey,
    requestHash: idempotencyKey === null ? null : hashRequest(texts.request),
    traceparent: texts.traceparent,
  }
}

/**
 * A bound key's own tenant, which it need not name; else the one that is named.
 * @throws DulyError `forbidden` when a bound key names another one
 */
export function tenantOf({ metadata }: Pick<SubmitTaskBody, 'metadata'>, bound: TenantScope): string {
  return ownTenant('metadata.tenant_id', metadata?.tenant_id as string | undefined, bound)
}

/**
 * The tenant of a request whose field names one, or none.
 * @throws DulyError `forbidden` when a bound key names another one
 */
export function ownTenant(field: string, named: string | undefined, bound: TenantScope): string {
  if (bound === null || named === undefined || named === bound) return named ?? bound ?? defaultTenant
  throw new DulyError('forbidden', `${field} names another tenant than ${bound}, which this key is bound to.`)
}

function retryOf(body: TaskFields) {
  return {
    maxRetries: body.max_retries ?? defaultRetryPolicy.maxRetries,
    backoff: body.retry_backoff ?? defaultRetryPolicy.backoff,
    jitter: body.retry_jitter ?? defaultRetryPolicy.jitter,
    retryDelayMs: optionalMs(body.retry_delay_seconds) ?? defaultRetryPolicy.delayMs,
    retryMaxDelayMs: optionalMs(body.retry_max_delay_seconds) ?? defaultRetryPolicy.maxDelayMs,
  }
}

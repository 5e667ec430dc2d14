import {
  checkRetry,
  type DependencyDefinitions,
  type ResultOf,
  type RetryOptions,
  type TaskDefaults,
  type TaskDefinition,
  taskDefaultNames,
  writtenHere,
} from '../define-task.js'
import { type Duration, toSeconds } from '../duration.js'
import { InvalidPayloadError } from '../errors.js'
import { checkOptions, namesOf, type OptionNames } from '../known-options.js'
import { validate } from '../standard-schema.js'
import { RawJson } from './raw-json.js'
import type { Metadata } from './records.js'

/** What a submission may say; everything else is the definition's, the task type's or the server's default. */
export interface SubmitOptions extends TaskDefaults {
  /** Start no sooner than this long after the submission. Not together with `scheduledAt`. */
  readonly delay?: Duration
  /** Start no sooner than this; in the past means now. */
  readonly scheduledAt?: Date | string
  /** The same key with the same request makes one task only, and makes the submission safe to repeat. */
  readonly idempotencyKey?: string
  /** Not started by then: cancelled with the reason `expired`. */
  readonly expiresAt?: Date | string
  /** `metadata.tenant_id`; only a key that is bound to no tenant may choose it. */
  readonly tenant?: string
  /** As JSON text it is sent as it is written, to the last digit. */
  readonly metadata?: Metadata | RawJson
  readonly tags?: readonly string[]
  /** Kept with the task; limits by key come with a later version. */
  readonly concurrencyKey?: string
  readonly resultTtl?: Duration
  /** Context of the caller's trace (W3C), continued by the task. */
  readonly traceparent?: string
  readonly signal?: AbortSignal
}

type OnceOptions = Pick<SubmitOptions, 'delay' | 'scheduledAt' | 'idempotencyKey' | 'traceparent' | 'signal'>

/** The options that a recurring task gives to its tasks, as a submission does. */
export const taskOptionNames: OptionNames = {
  names: [
    ...taskDefaultNames,
    ...namesOf<Omit<SubmitOptions, keyof TaskDefaults | keyof OnceOptions>>({
      ...{ expiresAt: true, tenant: true, metadata: true, tags: true, concurrencyKey: true, resultTtl: true },
    }),
  ],
  elsewhere: {
    ...writtenHere,
    ...{ result_ttl_seconds: 'resultTtl', tenant_id: 'tenant', correlation_id: 'metadata.correlation_id' },
  },
}

/** The options of a submission. */
export const submitOptionNames: OptionNames = {
  names: [
    ...taskOptionNames.names,
    ...namesOf<OnceOptions>({ delay: true, scheduledAt: true, idempotencyKey: true, traceparent: true, signal: true }),
  ],
  elsewhere: { ...taskOptionNames.elsewhere, delay_seconds: 'delay' },
}

/** @throws TypeError for an option that no submission has */
export function checkSubmitOptions(call: string, options: SubmitOptions): void {
  checkOptions(call, options, submitOptionNames)
  checkTaskOptions(call, options)
}

/** @throws TypeError for an option that no policy of retries has */
export function checkTaskOptions(call: string, options: Pick<SubmitOptions, 'retry'>): void {
  checkRetry(call, options.retry)
}

/** A submission as it stands on the wire. */
export type WireSubmission = Readonly<Record<string, unknown>>

/** A definition with any schemas. */
export type AnyTask = TaskDefinition<unknown, unknown, unknown, unknown>

type PayloadOf<Task> =
  Task extends TaskDefinition<infer PayloadIn, unknown, unknown, unknown, DependencyDefinitions> ? PayloadIn : never

/** What follows the task: of a mere type even the payload may be left out. One signature for both, so that an error is told once. */
export type SubmitArguments<Task, Options> = [Task] extends [string]
  ? [payload?: unknown, options?: Options]
  : [payload: PayloadOf<Task> | RawJson, options?: Options]

/** What the result of a submission is decoded to. */
export type SubmitResult<Task> = [Task] extends [string] ? unknown : ResultOf<Task>

/** @throws TypeError for what is neither a definition nor the name of a task type: an import that is not there, arguments in another order */
export function checkTask(call: string, task: unknown): asserts task is AnyTask | string {
  if (typeof task === 'string') return
  if (typeof task === 'object' && task !== null && typeof (task as AnyTask).type === 'string') return
  throw new TypeError(`${call}: the task must be a definition or a task type, and is ${describe(task)}`)
}

/** What was given in place of something else, for a message. */
export function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (typeof value === 'string') return JSON.stringify(value)
  if (value instanceof Promise) return 'a promise: await it'
  return Array.isArray(value) ? 'a list' : `a ${value.constructor?.name ?? typeof value}`
}

/**
 * The body of a submission: the options over the definition's settings, the payload as it was given. The schema checks it
 * here, but its output does not travel: the worker decodes the same JSON with the same schema.
 *
 * @throws InvalidPayloadError, RangeError for a duration that is none
 */
export async function toSubmission(
  task: AnyTask | string,
  payload: unknown,
  options: SubmitOptions,
): Promise<WireSubmission> {
  if (typeof task === 'string') return toWire(task, payload, options)
  const checked = await validate(task.payload, payload instanceof RawJson ? payload.value : payload)
  if (checked.issues !== undefined) throw new InvalidPayloadError(task.type, checked.issues)
  const retry = { ...task.defaults.retry, ...options.retry }
  return toWire(task.type, payload, { ...task.defaults, ...options, retry })
}

/** The JSON text of a submission, with a raw payload and raw metadata as they were written. */
export function encodeSubmission(submission: WireSubmission): string {
  return encodeMembers(Object.entries(submission))
}

/** The JSON text of an object by its members, raw ones as they were written. */
export function encodeMembers(members: readonly (readonly [key: string, value: unknown])[]): string {
  const texts = members.flatMap(([key, value]) => {
    const text = value instanceof RawJson ? value.text : JSON.stringify(value)
    return text === undefined ? [] : [`${JSON.stringify(key)}:${text}`]
  })
  return `{${texts.join(',')}}`
}

/** Metadata with the tenant in it, the rest as it was written. */
export function metadataOf({ metadata, tenant }: Pick<SubmitOptions, 'metadata' | 'tenant'>): unknown {
  if (tenant === undefined) return metadata
  if (!(metadata instanceof RawJson)) return { ...metadata, tenant_id: tenant }
  const others = metadata.members().filter(([key]) => key !== 'tenant_id')
  return new RawJson(encodeMembers([...others, ['tenant_id', tenant]]))
}

function toWire(taskType: string, payload: unknown, options: SubmitOptions): WireSubmission {
  const { retry = {} } = options
  // JSON.stringify leaves out what is undefined: absent options are not sent.
  return {
    task_type: taskType,
    payload,
    queue: options.queue,
    priority: options.priority,
    delay_seconds: seconds(options.delay),
    scheduled_at: instant(options.scheduledAt),
    expires_at: instant(options.expiresAt),
    timeout_seconds: seconds(options.timeout),
    result_ttl_seconds: seconds(options.resultTtl),
    idempotency_key: options.idempotencyKey,
    concurrency_key: options.concurrencyKey,
    tags: options.tags,
    metadata: metadataOf(options),
    ...retryToWire(retry),
  }
}

function retryToWire(retry: RetryOptions): WireSubmission {
  return {
    max_retries: retry.limit,
    retry_backoff: retry.backoff,
    retry_jitter: retry.jitter,
    retry_delay_seconds: seconds(retry.delay),
    retry_max_delay_seconds: seconds(retry.maxDelay),
  }
}

function seconds(duration: Duration | undefined): number | undefined {
  return duration === undefined ? undefined : toSeconds(duration)
}

function instant(at: Date | string | undefined): string | undefined {
  return at instanceof Date ? at.toISOString() : at
}

import type { Duration } from './duration.js'
import { checkOptions, namesOf, type OptionNames } from './known-options.js'
import type { StandardSchema } from './standard-schema.js'

export type Priority = 'high' | 'medium' | 'low'
export type BackoffKind = 'exponential' | 'linear' | 'fixed'
export type JitterKind = 'full' | 'equal' | 'decorrelated' | 'none'

/** How an attempt that fails is tried again. What is absent is the task type's or the server's default. */
export interface RetryOptions {
  /** Retries after the first failure, 0 to 100; the server's default is 3. */
  readonly limit?: number
  readonly backoff?: BackoffKind
  /** Delay before the first retry. */
  readonly delay?: Duration
  /** Longest delay. */
  readonly maxDelay?: Duration
  readonly jitter?: JitterKind
}

/** Settings that a definition gives to each of its tasks; a submission may override them. */
export interface TaskDefaults {
  readonly retry?: RetryOptions
  /** Time limit of one attempt, 0.1 s to 7 days. */
  readonly timeout?: Duration
  readonly queue?: string
  readonly priority?: Priority
}

const retryNames: OptionNames = {
  names: namesOf<RetryOptions>({ limit: true, backoff: true, delay: true, maxDelay: true, jitter: true }),
  elsewhere: { max_retries: 'limit', max_attempts: 'limit', retries: 'limit' },
}

/** The names of {@link TaskDefaults}. */
export const taskDefaultNames = namesOf<TaskDefaults>({ retry: true, timeout: true, queue: true, priority: true })

/** How settings of a task are called elsewhere, and are written here. */
export const writtenHere: Readonly<Record<string, string>> = {
  ...{ max_retries: 'retry.limit', max_attempts: 'retry.limit', retries: 'retry.limit' },
  ...{ retry_backoff: 'retry.backoff', retry_jitter: 'retry.jitter', retry_delay_seconds: 'retry.delay' },
  ...{ retry_delay: 'retry.delay', retry_max_delay_seconds: 'retry.maxDelay', retry_max_delay: 'retry.maxDelay' },
  timeout_seconds: 'timeout',
}

/** @throws TypeError for an option that no policy of retries has */
export function checkRetry(call: string, retry: RetryOptions | undefined): void {
  checkOptions(`${call}, retry`, retry, retryNames)
}

/** A task type with what its results are decoded by. */
export interface ResultType<Result> {
  readonly type: string
  readonly result: StandardSchema<unknown, Result> | undefined
}

/** Tasks whose results a handler reads, by their names in the workflow. */
export interface DependencyDefinitions {
  readonly [name: string]: ResultType<unknown>
}

/** Of a task that reads no results of others. */
export type NoDependencies = Readonly<Record<never, never>>

/** What the result of a definition is decoded to. */
export type ResultOf<Definition> = Definition extends {
  readonly result: StandardSchema<unknown, infer Result> | undefined
}
  ? Result
  : never

/**
 * A task type with its schemas: what producer and worker share.
 *
 * `PayloadIn` is what a submission gives and what travels as JSON; `Payload` is what the handler gets, the schema's
 * output. `ResultIn` is what the handler returns and what travels; `Result` is what `handle.result()` gives.
 * `Dependencies` are the tasks of a workflow whose results the handler reads.
 */
export interface TaskDefinition<
  PayloadIn = unknown,
  Payload = PayloadIn,
  ResultIn = unknown,
  Result = ResultIn,
  Dependencies extends DependencyDefinitions = NoDependencies,
> {
  readonly type: string
  readonly payload: StandardSchema<PayloadIn, Payload> | undefined
  readonly result: StandardSchema<ResultIn, Result> | undefined
  readonly dependencies: Dependencies
  readonly defaults: TaskDefaults
}

export interface TaskDefinitionOptions<
  PayloadIn,
  Payload,
  ResultIn,
  Result,
  Dependencies extends DependencyDefinitions = NoDependencies,
> extends TaskDefaults {
  readonly payload?: StandardSchema<PayloadIn, Payload>
  readonly result?: StandardSchema<ResultIn, Result>
  /**
   * Tasks of a workflow whose results its handler reads, by their names there: `{ 'create-account': createAccount }`. A workflow that has
   * this task must have those before it.
   */
  readonly dependencies?: Dependencies
}

const definitionNames: OptionNames = {
  names: ['payload', 'result', 'dependencies', ...taskDefaultNames],
  elsewhere: { ...writtenHere, after: 'dependencies', depends_on: 'dependencies' },
}

const TASK_TYPE = /^[A-Za-z0-9._:/-]{1,128}$/

/**
 * Defines a task type.
 *
 * @throws RangeError when the name is not 1 to 128 of `A–Z a–z 0–9 . _ - : /`; TypeError for an unknown option
 */
export function defineTask<
  PayloadIn = unknown,
  Payload = PayloadIn,
  ResultIn = unknown,
  Result = ResultIn,
  Dependencies extends DependencyDefinitions = NoDependencies,
>(
  type: string,
  options: TaskDefinitionOptions<PayloadIn, Payload, ResultIn, Result, Dependencies> = {},
): TaskDefinition<PayloadIn, Payload, ResultIn, Result, Dependencies> {
  if (!TASK_TYPE.test(type)) throw new RangeError(`not a task type: ${JSON.stringify(type)}`)
  checkOptions('defineTask', options, definitionNames)
  checkRetry('defineTask', options.retry)
  const { payload, result, dependencies = {} as Dependencies, ...defaults } = options
  return Object.freeze({
    type,
    payload,
    result,
    dependencies: Object.freeze({ ...dependencies }),
    defaults: Object.freeze(defaults),
  })
}

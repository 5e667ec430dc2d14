import type { BatchItem } from '@duly/sdk'
import { CliError } from './cli-error.js'
import type { FileTask } from './task-file.js'

/** How a field's value is written: on the command line, and as JSON in a file. */
type Kind = 'text' | 'seconds' | 'integer' | 'list' | 'json'

/** One field of a submission: its key on the wire, its flag, and where the SDK takes it. */
export interface TaskField {
  readonly key: string
  readonly flag: string
  readonly argument: string
  readonly kind: Kind
  readonly help: string
  /** Path in the SDK's options. */
  readonly option: readonly [string] | readonly ['retry', string]
}

const field = (key: string, kind: Kind, option: string, [argument, help]: readonly [string, string]): TaskField => {
  const [first = '', second] = option.split('.')
  const path = first === 'retry' && second !== undefined ? (['retry', second] as const) : ([first] as const)
  return { key, flag: `--${key.replace(/_seconds$/, '').replaceAll('_', '-')}`, argument, kind, help, option: path }
}

/** Every field of a task beside its type and its payload, in the order of the help. */
export const taskFields: readonly TaskField[] = [
  field('queue', 'text', 'queue', ['name', 'queue (default: "default")']),
  field('priority', 'text', 'priority', ['level', 'high, medium or low']),
  field('scheduled_at', 'text', 'scheduledAt', ['instant', 'start no sooner, e.g. 2026-04-04T09:00:00Z']),
  field('delay_seconds', 'seconds', 'delay', ['duration', 'start after this long, e.g. 30s, 5m, 24h']),
  field('expires_at', 'text', 'expiresAt', ['instant', 'cancel it if it has not started by then']),
  field('max_retries', 'integer', 'retry.limit', ['n', 'retries after the first failure, 0 to 100']),
  field('retry_backoff', 'text', 'retry.backoff', ['kind', 'exponential, linear or fixed']),
  field('retry_jitter', 'text', 'retry.jitter', ['kind', 'full, equal, decorrelated or none']),
  field('retry_delay_seconds', 'seconds', 'retry.delay', ['duration', 'delay before the first retry']),
  field('retry_max_delay_seconds', 'seconds', 'retry.maxDelay', ['duration', 'longest delay between retries']),
  field('timeout_seconds', 'seconds', 'timeout', ['duration', 'limit of one attempt']),
  field('result_ttl_seconds', 'seconds', 'resultTtl', ['duration', 'keep the result this long']),
  field('idempotency_key', 'text', 'idempotencyKey', ['key', 'the same key never makes a second task']),
  field('concurrency_key', 'text', 'concurrencyKey', [
    'key',
    'kept with the task; limits by key come with a later version',
  ]),
  field('tags', 'list', 'tags', ['tag...', 'short words to find it by']),
  field('metadata', 'json', 'metadata', ['json', 'strings, numbers and booleans by name']),
]

/** What stands of one submission only, and not of a recurring task's. */
const ONCE: readonly string[] = ['scheduled_at', 'delay_seconds', 'idempotency_key']

/** Every field of the tasks that a recurring task makes. */
export const cronTaskFields = taskFields.filter(({ key }) => !ONCE.includes(key))

const fieldOf = new Map(taskFields.map((entry) => [entry.key, entry]))

/** A problem with a key of a task, e.g. an unknown one; undefined when its form is right. Meaning is the server's to judge. */
export function problemOfKey(key: string, value: unknown): string | undefined {
  if (key === 'payload') return undefined
  if (key === 'task_type') return typeof value === 'string' ? undefined : '"task_type" must be a string'
  const entry = fieldOf.get(key)
  if (!entry) return `unknown key "${key}"`
  return entry.kind === 'seconds' && typeof value !== 'number' ? `"${key}" must be a number of seconds` : undefined
}

/**
 * A task as the API states it, in the SDK's form. Values go through as they are: a wrong one is refused by the server, with
 * the path of the field.
 * @throws CliError for a key that no submission has
 */
export function toBatchItem(task: FileTask): BatchItem {
  const options: Record<string, unknown> = {}
  const retry: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(task)) {
    const problem = problemOfKey(key, value)
    if (problem) throw new CliError('usage', problem)
    const entry = fieldOf.get(key)
    if (!entry || value === null) continue
    const [first, second] = entry.option
    const target = second === undefined ? options : retry
    target[second ?? first] = entry.kind === 'seconds' ? Number(value) * 1_000 : value
  }
  return { task: String(task.task_type), payload: task.payload ?? null, options: { ...options, retry } }
}

import { backoffs, jitters, limits } from '@duly/domain'
import type { CronTemplate } from '../model.js'

/** The fields of a template that stand in no column of their own. */
type Packed = Omit<CronTemplate, 'taskType' | 'queue' | 'payload' | 'metadata'>

/** The template as its columns have it. */
export interface TemplateColumns {
  readonly taskType: string
  readonly queue: string
  readonly task: string
  readonly metadata: string | null
}

/** The text of the column `task`: the same for the same template. */
export function packTemplate(template: CronTemplate): string {
  const packed: Packed = {
    priority: template.priority,
    tags: template.tags,
    expiresAtMs: template.expiresAtMs,
    maxRetries: template.maxRetries,
    backoff: template.backoff,
    jitter: template.jitter,
    retryDelayMs: template.retryDelayMs,
    retryMaxDelayMs: template.retryMaxDelayMs,
    timeoutMs: template.timeoutMs,
    resultTtlMs: template.resultTtlMs,
    concurrencyKey: template.concurrencyKey,
  }
  return JSON.stringify(packed)
}

/**
 * The template of a row. What is read here may have been written by another version of the program, or by hand.
 * @throws Error that says which field is none that a task can have
 */
export function unpackTemplate(columns: TemplateColumns): Omit<CronTemplate, 'payload'> {
  const { taskType, queue, metadata } = columns
  if (!isJsonObject(metadata ?? '{}')) throw new Error("the template's metadata is none that a task can have")
  return { taskType, queue, metadata, ...checked(JSON.parse(columns.task) as Partial<Record<keyof Packed, unknown>>) }
}

function isJsonObject(text: string): boolean {
  const value: unknown = JSON.parse(text)
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * The text of a payload as its row has it: it is passed on as it stands, and a broken one would break the answer that it is part of.
 * @throws Error that says so
 */
export function checkedPayload(text: string): string {
  try {
    JSON.parse(text)
    return text
  } catch (error) {
    throw new Error("the template's payload is no JSON", { cause: error })
  }
}

function checked(fields: Partial<Record<keyof Packed, unknown>>): Packed {
  const { timeoutMaxMs, timeoutMinMs, delayMaxMs, maxRetriesMax, instantMaxMs } = limits
  const isText = (value: unknown): value is string => typeof value === 'string'
  const tests: Record<keyof Packed, boolean> = {
    priority: isWithin(fields.priority, 1, 3),
    tags: Array.isArray(fields.tags) && fields.tags.every(isText),
    expiresAtMs: fields.expiresAtMs === null || isWithin(fields.expiresAtMs, 0, instantMaxMs),
    maxRetries: isWithin(fields.maxRetries, 0, maxRetriesMax),
    backoff: backoffs.some((backoff) => backoff === fields.backoff),
    jitter: jitters.some((jitter) => jitter === fields.jitter),
    retryDelayMs: isWithin(fields.retryDelayMs, 0, delayMaxMs),
    retryMaxDelayMs: isWithin(fields.retryMaxDelayMs, 0, delayMaxMs),
    timeoutMs: isWithin(fields.timeoutMs, timeoutMinMs, timeoutMaxMs),
    resultTtlMs: fields.resultTtlMs === null || isWithin(fields.resultTtlMs, 1, delayMaxMs),
    concurrencyKey: fields.concurrencyKey === null || isText(fields.concurrencyKey),
  }
  const wrong = Object.keys(tests).find((field) => !tests[field as keyof Packed])
  if (wrong !== undefined) throw new Error(`the template's ${wrong} is none that a task can have`)
  return fields as unknown as Packed
}

const isWithin = (value: unknown, min: number, max: number): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max

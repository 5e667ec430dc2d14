import { checkOptions, namesOf } from '../known-options.js'
import { BulkHandle, type BulkReceipt } from './bulk.js'
import type { ApiAnswer, HttpClient } from './http.js'
import { type PageOptions, pageQuery } from './page-options.js'
import { keepRaw, keepRawItems, rawJson } from './raw-json.js'
import type { Page, TaskRecord } from './records.js'
import { fromWire } from './wire.js'

/** A task whose retries, crashes or snoozes are used up. */
export interface DeadLetter {
  /** Of the task. */
  readonly id: string
  readonly tenantId: string
  readonly taskType: string
  readonly queue: string
  readonly createdAt: Date
  readonly diedAt: Date
  readonly attempts: number
  readonly failures: number
  readonly crashes: number
  readonly error: { readonly class: string; readonly message: string }
  /** The message without what varies: numbers, ids, quoted texts. */
  readonly errorPattern: string
  /** Of its group: queue, task type, class and pattern of the error. */
  readonly fingerprint: string
}

/** Dead letters of one queue, task type and error. */
export interface DeadLetterGroup {
  readonly fingerprint: string
  readonly queue: string
  readonly taskType: string
  readonly errorClass: string
  readonly errorPattern: string
  readonly letters: number
  readonly oldestAt: Date
  readonly newestAt: Date
  readonly sampleTaskId: string
}

export interface DeadLetterSummary {
  readonly letters: number
  readonly groups: number
  /** The largest first. */
  readonly items: readonly DeadLetterGroup[]
  /** False: there are more groups than one look takes in, and the figures are of those alone. */
  readonly isComplete: boolean
}

/** Which dead letters are meant; all that is given must fit. */
export interface DeadLetterFilters {
  readonly queue?: string
  readonly taskType?: string
  /** Only for a key that is bound to no tenant. */
  readonly tenant?: string
  readonly errorClass?: string
  /** Of a group of the summary. */
  readonly fingerprint?: string
}

export interface SummaryOptions extends Pick<DeadLetterFilters, 'queue' | 'taskType' | 'tenant'> {
  /** Groups at most, 1 to 500. Default 50. */
  readonly limit?: number
}

const parameters: Readonly<Record<keyof DeadLetterFilters | 'limit', string>> = {
  queue: 'queue',
  taskType: 'task_type',
  tenant: 'tenant_id',
  errorClass: 'error_class',
  fingerprint: 'fingerprint',
  limit: 'limit',
}

const elsewhere = { tenant_id: 'tenant' }
const filterNames = {
  names: namesOf<DeadLetterFilters>({
    ...{ queue: true, taskType: true, tenant: true, errorClass: true, fingerprint: true },
  }),
  elsewhere,
}
const summaryNames = {
  names: namesOf<SummaryOptions>({ queue: true, taskType: true, tenant: true, limit: true }),
  elsewhere,
}

function queryOf(values: Readonly<Partial<Record<keyof typeof parameters, string | number | undefined>>>): string {
  const search = new URLSearchParams()
  for (const [name, parameter] of Object.entries(parameters)) {
    const value = values[name as keyof typeof parameters]
    if (value !== undefined) search.set(parameter, String(value))
  }
  return search.size === 0 ? '' : `?${search}`
}

/** `duly.dlq`: the dead letters. */
export class DeadLetters {
  readonly #http: HttpClient

  constructor(http: HttpClient) {
    this.#http = http
  }

  /** A page of dead letters, the latest first. It may be short, or empty, and yet have a `nextCursor`; see {@link all}. */
  async list(filters: DeadLetterFilters = {}, options: PageOptions = {}): Promise<Page<DeadLetter>> {
    checkOptions('dlq.list', filters, filterNames)
    const path = `/dlq${pageQuery('dlq.list', new URLSearchParams(queryOf(filters)), options)}`
    const answer = await this.#http.call({ method: 'GET', path, repeatable: true, signal: options.signal })
    const page = toRecord<Page<DeadLetter>>(answer)
    keepRawItems(page.items, () => rawJson(answer.text).member('items'))
    return page
  }

  /** Every dead letter that fits, the latest first, page by page as they are taken. */
  async *all(
    filters: DeadLetterFilters = {},
    options: Omit<PageOptions, 'cursor'> = {},
  ): AsyncGenerator<DeadLetter, void> {
    for (let cursor: string | null = null; ; ) {
      const page: Page<DeadLetter> = await this.list(filters, { ...options, ...(cursor === null ? {} : { cursor }) })
      yield* page.items
      if (page.nextCursor === null) return
      cursor = page.nextCursor
    }
  }

  /** What they have in common: groups by queue, task type and error, the largest first. */
  async summary(options: SummaryOptions = {}): Promise<DeadLetterSummary> {
    checkOptions('dlq.summary', options, summaryNames)
    const path = `/dlq/summary${queryOf(options)}`
    return toRecord<DeadLetterSummary>(await this.#http.call({ method: 'GET', path, repeatable: true }))
  }

  /**
   * Runs a dead task again, under the same id, with its retries restored.
   * @throws DulyApiError `not_found` when it is no dead letter
   */
  async retry(id: string): Promise<TaskRecord> {
    const path = `/dlq/${encodeURIComponent(id)}/retry`
    return toRecord<TaskRecord>(await this.#http.call({ method: 'POST', path, repeatable: false }))
  }

  /** Runs all that fit again, in the background; without filters all dead letters. What dies after the call is not touched. */
  async retryAll(filters: DeadLetterFilters = {}): Promise<BulkHandle> {
    checkOptions('dlq.retryAll', filters, filterNames)
    return this.#start('retry-all', filters)
  }

  /**
   * Gives all that fit up for good, in the background; without filters all dead letters. What dies after the call is not touched.
   */
  async discardAll(filters: DeadLetterFilters = {}): Promise<BulkHandle> {
    checkOptions('dlq.discardAll', filters, filterNames)
    return this.#start('discard-all', filters)
  }

  async #start(call: string, filters: DeadLetterFilters): Promise<BulkHandle> {
    const path = `/dlq/${call}${queryOf(filters)}`
    const answer = await this.#http.call<BulkReceipt>({ method: 'POST', path, repeatable: false })
    return new BulkHandle(this.#http, answer.body.bulk_id)
  }

  /**
   * Gives a dead task up: its record stays, marked, but it can no longer be retried.
   * @throws DulyApiError `not_found` when it is no dead letter, or was discarded before
   */
  async discard(id: string): Promise<void> {
    await this.#http.call({ method: 'DELETE', path: `/dlq/${encodeURIComponent(id)}`, repeatable: false })
  }
}

function toRecord<T>(answer: ApiAnswer<unknown>): T {
  return keepRaw(fromWire(answer.body) as T, () => rawJson(answer.text))
}

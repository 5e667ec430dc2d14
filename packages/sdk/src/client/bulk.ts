import type { Duration } from '../duration.js'
import { checkOptions, namesOf } from '../known-options.js'
import type { ApiAnswer, HttpClient } from './http.js'
import { type LongPoll, longPoll, waitQuery } from './long-poll.js'
import { type PageOptions, pageQuery } from './page-options.js'
import { keepRaw, keepRawItems, rawJson } from './raw-json.js'
import type { Page, TaskStatus } from './records.js'
import { fromWire } from './wire.js'

export type BulkAction = 'cancel' | 'retry' | 'discard'
export type BulkStatus = 'RUNNING' | 'SUCCEEDED' | 'CANCELLED' | 'FAILED'

/** An operation on many tasks as it stands. */
export interface BulkRecord {
  readonly id: string
  readonly action: BulkAction
  /** Which list the filter is of. */
  readonly source: 'tasks' | 'dead_letters'
  /** As it was asked for, with the names of the API; empty: everything. */
  readonly filter: Readonly<Record<string, string>>
  readonly tenantId: string | null
  readonly actor: string
  readonly status: BulkStatus
  /** Tasks that fitted when it came to them: done, skipped and failed together. */
  readonly matched: number
  readonly done: number
  /** Left alone, since their state had changed meanwhile. */
  readonly skipped: number
  readonly failed: number
  readonly error: string | null
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly completedAt: Date | null
}

/** What an operation would change, as far as one bounded look tells. */
export interface BulkPreview {
  readonly action: BulkAction
  readonly matched: number
  /** The look stopped at its bound: there may be more. */
  readonly atLeast: boolean
  readonly byStatus: Readonly<Partial<Record<TaskStatus, number>>>
  readonly samples: readonly {
    readonly id: string
    readonly status: TaskStatus
    readonly tenantId: string
    readonly taskType: string
    readonly queue: string
  }[]
}

/** What the answer to a start says, in the words of the API. */
export interface BulkReceipt {
  readonly bulk_id: string
}

export interface BulkWaitOptions {
  /** Give up waiting after this; without it the wait has no end. The operation goes on in either case. */
  readonly timeout?: Duration
  readonly signal?: AbortSignal
  /** Told how far it came, about once a second, and at the end. */
  readonly onProgress?: (record: BulkRecord) => void
}

const waitNames = namesOf<BulkWaitOptions>({ timeout: true, signal: true, onProgress: true })

/** Longest single wait, s, with somebody who wants to see progress. */
const WATCHED_WAIT_SECONDS = 1

/** An operation on many tasks: watch it, wait for it, stop it. */
export class BulkHandle {
  readonly id: string
  readonly #http: HttpClient

  constructor(http: HttpClient, id: string) {
    this.#http = http
    this.id = id
  }

  /** How far it came. */
  progress(): Promise<BulkRecord> {
    return readBulk(this.#http, this.id)
  }

  /**
   * How it ended, whichever way: SUCCEEDED, CANCELLED or FAILED. Waits on through an outage of the server of up to a minute; when
   * `timeout` is over, the record as it stands (RUNNING).
   */
  async result(options: BulkWaitOptions = {}): Promise<BulkRecord> {
    checkOptions('bulk.result', options, { names: waitNames })
    const { onProgress } = options
    const longest = onProgress ? WATCHED_WAIT_SECONDS : Number.POSITIVE_INFINITY
    return longPoll(
      async (poll) => {
        const record = await readBulk(this.#http, this.id, {
          ...poll,
          waitSeconds: Math.min(longest, poll.waitSeconds),
        })
        onProgress?.(record)
        return record
      },
      ({ status }) => status !== 'RUNNING',
      options,
    )
  }

  /**
   * Stops it; what it has done stays done. Repeating it changes nothing.
   * @throws DulyApiError `wrong_state` when it has ended by itself
   */
  async cancel(): Promise<BulkRecord> {
    return toBulk(await this.#http.call({ method: 'POST', path: bulkPath(this.id, 'cancel'), repeatable: true }))
  }
}

/** Asks the server to act on many tasks, or what it would change. */
export async function startBulk<T>(
  http: HttpClient,
  body: object,
  read: (answer: ApiAnswer<unknown>) => T,
): Promise<T> {
  const request = { method: 'POST', path: '/tasks/bulk', body: JSON.stringify(body), repeatable: false } as const
  return read(await http.call(request))
}

/** The handle of an operation that has just been started. */
export const handleOf =
  (http: HttpClient) =>
  ({ body }: ApiAnswer<unknown>): BulkHandle =>
    new BulkHandle(http, (body as BulkReceipt).bulk_id)

export function toPreview({ body, text }: ApiAnswer<unknown>): BulkPreview {
  return keepRaw(fromWire(body) as BulkPreview, () => rawJson(text))
}

/** `duly.bulk`: operations on many tasks that were started before. */
export class BulkOperations {
  readonly #http: HttpClient

  constructor(http: HttpClient) {
    this.#http = http
  }

  /** A page of them, the newest first. */
  async list(options: PageOptions = {}): Promise<Page<BulkRecord>> {
    const path = `/bulk-operations${pageQuery('bulk.list', new URLSearchParams(), options)}`
    const answer = await this.#http.call({ method: 'GET', path, repeatable: true, signal: options.signal })
    const page = fromWire(answer.body) as Page<WireBulk>
    const items = page.items.map(named)
    keepRawItems(items, () => rawJson(answer.text).member('items'))
    return keepRaw({ ...page, items }, () => rawJson(answer.text))
  }

  /** @throws DulyApiError `not_found` */
  get(id: string): Promise<BulkRecord> {
    return readBulk(this.#http, id)
  }

  /** The handle of one that another call, or another process, started. */
  handle(id: string): BulkHandle {
    return new BulkHandle(this.#http, id)
  }
}

type WireBulk = Omit<BulkRecord, 'id'> & { readonly bulkId: string }

/** A record is addressed by its `id`. */
const named = ({ bulkId, ...record }: WireBulk): BulkRecord => ({ id: bulkId, ...record })

function toBulk(answer: ApiAnswer<unknown>): BulkRecord {
  return keepRaw(named(fromWire(answer.body) as WireBulk), () => rawJson(answer.text))
}

const bulkPath = (id: string, call?: string): string =>
  `/bulk-operations/${encodeURIComponent(id)}${call === undefined ? '' : `/${call}`}`

async function readBulk(
  http: HttpClient,
  id: string,
  { waitSeconds, signal }: Partial<LongPoll> = {},
): Promise<BulkRecord> {
  const { query, waitMs } = waitQuery(waitSeconds)
  return toBulk(await http.call({ method: 'GET', path: `${bulkPath(id)}${query}`, repeatable: true, waitMs, signal }))
}

import type { TaskDefinition } from '../define-task.js'
import { checkOptions, namesOf } from '../known-options.js'
import type { StandardSchema } from '../standard-schema.js'
import { type BulkAction, type BulkHandle, type BulkPreview, handleOf, startBulk, toPreview } from './bulk.js'
import type { Explanation } from './explanations.js'
import type { HttpClient } from './http.js'
import { longPoll, waitQuery } from './long-poll.js'
import { type PageOptions, pageQuery } from './page-options.js'
import { keepRaw, keepRawItems, type RawJson, rawJson } from './raw-json.js'
import {
  type AttemptRecord,
  type CancelReceipt,
  type EventRecord,
  isFinished,
  type LogLine,
  type LogPage,
  type Page,
  type RunRecord,
  type SubmitReceipt,
  type TaskRecord,
  type TaskSummary,
} from './records.js'
import {
  type AnyTask,
  checkSubmitOptions,
  checkTask,
  encodeSubmission,
  type SubmitArguments,
  type SubmitOptions,
  type SubmitResult,
  toSubmission,
} from './submission.js'
import { taskPath, toRecord } from './task-calls.js'
import { TaskHandle, type WaitOptions } from './task-handle.js'
import { encodeEdit, filtersToWire, type TaskEdit, type TaskFilters } from './task-lists.js'
import { type LogOptions, readLogs } from './task-logs.js'
import { fromWire } from './wire.js'

/** One task of a batch; made type-safe by {@link batchItem}. */
export interface BatchItem {
  readonly task: AnyTask | string
  readonly payload?: unknown
  readonly options?: Omit<SubmitOptions, 'signal' | 'traceparent'>
}

const itemNames = namesOf<BatchItem>({ task: true, payload: true, options: true })

/** A batch item whose payload fits its definition. */
export function batchItem<PayloadIn>(
  task: TaskDefinition<PayloadIn, unknown, unknown, unknown>,
  payload: PayloadIn | RawJson,
  options: NonNullable<BatchItem['options']> = {},
): BatchItem {
  return { task, payload, options }
}

/** How a record is read. */
interface GetOptions {
  readonly waitSeconds?: number
  readonly signal?: AbortSignal
}

const getNames = {
  names: namesOf<GetOptions>({ waitSeconds: true, signal: true }),
  elsewhere: { wait_seconds: 'waitSeconds', wait: 'waitSeconds', timeout: 'waitSeconds' },
}

const batchNames = { names: ['signal'] }

const waitNames = namesOf<WaitOptions>({ timeout: true, signal: true })

/** Which tasks an operation is for: filters as of a list, or, said in so many words, all. */
export type BulkFilters = TaskFilters | { readonly all: true }

/** `duly.tasks`: the calls on one-time tasks. */
export class Tasks {
  readonly #http: HttpClient

  constructor(http: HttpClient) {
    this.#http = http
  }

  /**
   * Submits one task, by its definition or its type alone; when this resolves, the task is durable (I1). Without an idempotency key a
   * submission whose answer got lost is not sent again, because it could make a second task.
   *
   * @throws InvalidPayloadError, DulyApiError, DulyConnectionError, TypeError for an unknown option
   */
  submit<Task extends AnyTask | string>(
    task: Task,
    ...[payload, options]: SubmitArguments<Task, SubmitOptions>
  ): Promise<TaskHandle<SubmitResult<Task>>> {
    return this.submitAny(task, payload, options) as Promise<TaskHandle<never>>
  }

  /** The same without its types. */
  async submitAny(task: AnyTask | string, payload?: unknown, options: SubmitOptions = {}): Promise<TaskHandle> {
    checkTask('submit', task)
    checkSubmitOptions('submit', options)
    const body = encodeSubmission(await toSubmission(task, payload, options))
    const answer = await this.#http.call<Record<string, unknown>>({
      method: 'POST',
      path: '/tasks',
      body,
      repeatable: options.idempotencyKey !== undefined,
      signal: options.signal,
      ...(options.traceparent === undefined ? {} : { headers: { traceparent: options.traceparent } }),
    })
    // 202: a new task; 200: an earlier submission with the same key made it.
    return this.#handle(task, { ...answer.body, replayed: answer.status === 200 })
  }

  /**
   * Submits 1 to 10,000 tasks, all or none; the handles come in the order given. Repeated after a lost answer only when
   * every item has an idempotency key.
   *
   * @throws InvalidPayloadError, DulyApiError, DulyConnectionError, TypeError for an unknown option
   */
  async submitBatch(
    items: readonly BatchItem[],
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<readonly TaskHandle[]> {
    checkOptions('submitBatch', options, batchNames)
    const tasks: string[] = []
    for (const [index, item] of items.entries()) {
      const { task, payload, options = {} } = item
      checkOptions(`submitBatch, item ${index}`, item, { names: itemNames })
      checkSubmitOptions(`submitBatch, item ${index}`, options)
      tasks.push(encodeSubmission(await toSubmission(task, payload, options)))
    }
    const answer = await this.#http.call<{ readonly tasks: readonly Record<string, unknown>[] }>({
      method: 'POST',
      path: '/tasks/batch',
      body: `{"tasks":[${tasks.join(',')}]}`,
      repeatable: items.every((item) => item.options?.idempotencyKey !== undefined),
      signal: options.signal,
    })
    return items.flatMap((item, index) => {
      const receipt = answer.body.tasks[index]
      return receipt === undefined ? [] : [this.#handle(item.task, receipt)]
    })
  }

  /** The record; with `waitSeconds` (0 to 60) the server holds the answer until the task is finished, or that long. */
  async get(id: string, options: GetOptions = {}): Promise<TaskRecord> {
    checkOptions('tasks.get', options, getNames)
    const { query, waitMs } = waitQuery(options.waitSeconds)
    const path = `${taskPath(id)}${query}`
    const answer = await this.#http.call({ method: 'GET', path, repeatable: true, waitMs, signal: options.signal })
    return toRecord<TaskRecord>(answer)
  }

  /**
   * The record once the task is finished; or as it stands when `timeout` is over. Waits on through an outage of the server
   * of up to a minute.
   */
  async wait(id: string, options: WaitOptions = {}): Promise<TaskRecord> {
    checkOptions('tasks.wait', options, { names: waitNames })
    return longPoll(
      (poll) => this.get(id, poll),
      ({ status }) => isFinished(status),
      options,
    )
  }

  /** Cancels a task: at once when it waits; a running one is marked and its worker told. Repeating it changes nothing. */
  async cancel(id: string): Promise<CancelReceipt> {
    const answer = await this.#http.call({ method: 'POST', path: taskPath(id, 'cancel'), repeatable: true })
    return toRecord<CancelReceipt>(answer)
  }

  /** Runs a FAILED, DEAD or CANCELLED task again, under the same id, with its retries restored. */
  async retry(id: string): Promise<TaskRecord> {
    const answer = await this.#http.call({ method: 'POST', path: taskPath(id, 'retry'), repeatable: false })
    return toRecord<TaskRecord>(answer)
  }

  /** A page of tasks, the newest first. It may be short, or empty, and yet have a `nextCursor`; see {@link all}. */
  async list(filters: TaskFilters = {}, page: PageOptions = {}): Promise<Page<TaskSummary>> {
    const query = pageQuery('tasks.list', new URLSearchParams(filtersToWire('tasks.list', filters)), page)
    return this.#page<TaskSummary>(`/tasks${query}`, page)
  }

  /**
   * Every task that fits, the newest first, page by page as they are taken: `for await (const task of duly.tasks.all({ status: 'DEAD' }))`.
   * What fits all the while comes exactly once, whatever moves meanwhile. `limit` is that of one page.
   */
  async *all(filters: TaskFilters = {}, options: Omit<PageOptions, 'cursor'> = {}): AsyncGenerator<TaskSummary, void> {
    for (let cursor: string | null = null; ; ) {
      const page: Page<TaskSummary> = await this.list(filters, { ...options, ...(cursor === null ? {} : { cursor }) })
      yield* page.items
      if (page.nextCursor === null) return
      cursor = page.nextCursor
    }
  }

  /**
   * Edits a task that waits. What starts after this has resolved runs as edited.
   *
   * @throws DulyApiError `wrong_state` when it runs or has ended, or does not take a new time
   */
  async edit(id: string, edit: TaskEdit): Promise<TaskRecord> {
    const answer = await this.#http.call({
      method: 'PATCH',
      path: taskPath(id),
      body: encodeEdit(edit),
      repeatable: true,
    })
    return toRecord<TaskRecord>(answer)
  }

  bulk(action: BulkAction, which: BulkFilters, options: { readonly dryRun: true }): Promise<BulkPreview>
  bulk(action: BulkAction, which: BulkFilters, options?: { readonly dryRun?: false }): Promise<BulkHandle>
  /**
   * Cancels, retries or discards every task that fits, in the background; with `dryRun` nothing changes, and what fits is counted.
   * Which tasks must be said: `{ all: true }` means every one. Not repeated when the answer got lost.
   *
   * @throws DulyApiError `invalid_request` (no filter, or a status that the action does not change), `rate_limited`; TypeError for an
   * unknown filter
   */
  async bulk(
    action: BulkAction,
    which: BulkFilters,
    options: { readonly dryRun?: boolean } = {},
  ): Promise<BulkPreview | BulkHandle> {
    checkOptions('tasks.bulk', options, { names: ['dryRun'] })
    const { all, ...filters }: TaskFilters & { readonly all?: boolean } = which
    const body = { action, all, filter: filtersToWire('tasks.bulk', filters) }
    if (options.dryRun) return startBulk(this.#http, { ...body, dry_run: true }, toPreview)
    return startBulk(this.#http, body, handleOf(this.#http))
  }

  /** The current run of a task, then those that a retry by hand took back, the newest first. */
  async runs(id: string, page: PageOptions = {}): Promise<Page<RunRecord>> {
    const query = pageQuery('tasks.runs', new URLSearchParams(), page)
    return this.#page<RunRecord>(`${taskPath(id, 'runs')}${query}`, page)
  }

  /** Every attempt so far, the oldest first. */
  async attempts(id: string): Promise<readonly AttemptRecord[]> {
    return this.#list<AttemptRecord>(taskPath(id, 'attempts'))
  }

  /** The audit trail: every transition, when, by whom, why. */
  async events(id: string): Promise<readonly EventRecord[]> {
    return this.#list<EventRecord>(taskPath(id, 'events'))
  }

  /** Why it has not started, what it waits for, who runs it, or how it ended: the cause that matters most first. */
  async explain(id: string): Promise<Explanation> {
    const answer = await this.#http.call({ method: 'GET', path: taskPath(id, 'explain'), repeatable: true })
    return toRecord<Explanation>(answer)
  }

  /**
   * The lines that the handlers of a task logged, the oldest first: `for await (const line of duly.tasks.logs(id))`. With `follow` also
   * those that come yet, until the task has ended.
   */
  async *logs(id: string, options: LogOptions = {}): AsyncGenerator<LogLine, void> {
    for await (const page of this.logPages(id, options)) yield* page.items
  }

  /** The same page by page, each with the progress and the count of lines that the log had no room for. */
  logPages(id: string, options: LogOptions = {}): AsyncGenerator<LogPage, void> {
    return readLogs(this.#http, taskPath(id, 'logs'), options)
  }

  /** The handle of a task by its id, with the status that was told last. */
  handle<Result>(
    { id, status, isReplay = false }: Pick<SubmitReceipt, 'id' | 'status'> & { readonly isReplay?: boolean },
    task: { readonly type: string; readonly result: StandardSchema<unknown, Result> | undefined },
  ): TaskHandle<Result> {
    const receipt = { id, status, scheduledAt: null, createdAt: null }
    return new TaskHandle({ tasks: this, taskType: task.type, receipt, isReplay, result: task.result })
  }

  /** The handle of a task that another call made. */
  handleOf(receipt: Record<string, unknown>): TaskHandle {
    return this.#handle('', { ...receipt, replayed: false })
  }

  async #list<T>(path: string): Promise<readonly T[]> {
    const answer = await this.#http.call({ method: 'GET', path, repeatable: true })
    const { items } = fromWire(answer.body) as Page<T>
    const source = () => rawJson(answer.text).member('items')
    keepRawItems(items, source)
    return keepRaw(items, source)
  }

  async #page<T>(path: string, { signal }: PageOptions): Promise<Page<T>> {
    const answer = await this.#http.call({ method: 'GET', path, repeatable: true, signal })
    const page = toRecord<Page<T>>(answer)
    keepRawItems(page.items, () => rawJson(answer.text).member('items'))
    return page
  }

  #handle(task: AnyTask | string, answer: Record<string, unknown>): TaskHandle {
    const { replayed, ...receipt } = {
      scheduledAt: null,
      createdAt: null,
      ...(fromWire(answer) as Pick<SubmitReceipt, 'id' | 'status'> & { readonly replayed: boolean }),
    }
    const definition = typeof task === 'string' ? undefined : task
    return new TaskHandle({
      tasks: this,
      taskType: definition?.type ?? String(task),
      receipt,
      isReplay: replayed,
      result: definition?.result,
    })
  }
}

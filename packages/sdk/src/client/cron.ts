import type { TaskDefinition } from '../define-task.js'
import { checkOptions } from '../known-options.js'
import {
  type CronEdit,
  type CronFilters,
  type CronOptions,
  type CronTiming,
  checkDefinition,
  checkEdit,
  checkPreview,
  cronQuery,
  type ImportOptions,
  importToWire,
  instant,
  type PayloadOption,
  type PreviewOptions,
  timingToWire,
} from './cron-options.js'
import type { CronRecord, CronSummary, FiringRecord, ImportedCrontab, SchedulePreview } from './cron-records.js'
import type { ApiAnswer, HttpClient } from './http.js'
import { type PageOptions, pageQuery } from './page-options.js'
import { keepRaw, keepRawItems, rawJson } from './raw-json.js'
import type { Page } from './records.js'
import { type AnyTask, encodeSubmission, toSubmission } from './submission.js'
import type { TaskHandle } from './task-handle.js'
import type { Tasks } from './tasks.js'
import { fromWire } from './wire.js'

/** `duly.cron`: recurring tasks. Each fire time makes one task of the type given. */
export class Cron {
  readonly #http: HttpClient
  readonly #tasks: Tasks

  constructor(http: HttpClient, tasks: Tasks) {
    this.#http = http
    this.#tasks = tasks
  }

  create<PayloadIn>(
    name: string,
    task: TaskDefinition<PayloadIn, unknown, unknown, unknown>,
    definition: CronOptions & PayloadOption<PayloadIn>,
  ): Promise<CronRecord>
  create(name: string, taskType: string, definition: CronOptions & { readonly payload?: unknown }): Promise<CronRecord>
  /**
   * Defines a recurring task. Not repeated when the answer got lost: use {@link upsert} where it runs more than once.
   *
   * @throws InvalidPayloadError; DulyApiError `name_taken`, `unprocessable` (it could never fire), `invalid_request`
   */
  async create(
    name: string,
    task: AnyTask | string,
    definition: CronOptions & { readonly payload?: unknown },
  ): Promise<CronRecord> {
    checkDefinition('cron.create', definition)
    const body = await encodeDefinition(task, definition, { name })
    return toCron(await this.#http.call({ method: 'POST', path: '/cron-tasks', body, repeatable: false }))
  }

  upsert<PayloadIn>(
    name: string,
    task: TaskDefinition<PayloadIn, unknown, unknown, unknown>,
    definition: CronOptions & PayloadOption<PayloadIn>,
  ): Promise<CronRecord>
  upsert(name: string, taskType: string, definition: CronOptions & { readonly payload?: unknown }): Promise<CronRecord>
  /**
   * Creates or replaces by name: for deployments, which can run twice. While the schedule is the same, so is the next fire time; one
   * that was paused stays paused unless `enabled` says otherwise.
   *
   * @throws InvalidPayloadError; DulyApiError `unprocessable`, `invalid_request`
   */
  async upsert(
    name: string,
    task: AnyTask | string,
    definition: CronOptions & { readonly payload?: unknown },
  ): Promise<CronRecord> {
    checkDefinition('cron.upsert', definition)
    const body = await encodeDefinition(task, definition, {})
    return toCron(await this.#http.call({ method: 'PUT', path: namePath(name), body, repeatable: true }))
  }

  /** @throws DulyApiError `not_found` */
  async get(id: string): Promise<CronRecord> {
    return toCron(await this.#http.call({ method: 'GET', path: cronPath(id), repeatable: true }))
  }

  /**
   * The one of a name, in the tenant of the key unless one is named.
   * @throws DulyApiError `not_found`
   */
  async getByName(name: string, options: { readonly tenant?: string } = {}): Promise<CronRecord> {
    checkOptions('cron.getByName', options, { names: ['tenant'], elsewhere: { tenant_id: 'tenant' } })
    const { tenant } = options
    const query = tenant === undefined ? '' : `?${new URLSearchParams({ tenant_id: tenant })}`
    return toCron(await this.#http.call({ method: 'GET', path: `${namePath(name)}${query}`, repeatable: true }))
  }

  /** A page of recurring tasks, the newest first. It may be short, or empty, and yet have a `nextCursor`; see {@link all}. */
  async list(filters: CronFilters = {}, options: PageOptions = {}): Promise<Page<CronSummary>> {
    const path = `/cron-tasks${pageQuery('cron.list', cronQuery(filters), options)}`
    const answer = await this.#http.call({ method: 'GET', path, repeatable: true, signal: options.signal })
    const page = fromWire(answer.body) as Page<WireCron>
    const items = page.items.map((item) => named<CronSummary>(item))
    keepRawItems(items, () => rawJson(answer.text).member('items'))
    return keepRaw({ ...page, items }, () => rawJson(answer.text))
  }

  /** Every recurring task that fits, the newest first, page by page as they are taken. */
  async *all(filters: CronFilters = {}, options: Omit<PageOptions, 'cursor'> = {}): AsyncGenerator<CronSummary, void> {
    for (let cursor: string | null = null; ; ) {
      const page: Page<CronSummary> = await this.list(filters, { ...options, ...(cursor === null ? {} : { cursor }) })
      yield* page.items
      if (page.nextCursor === null) return
      cursor = page.nextCursor
    }
  }

  /** Edits a definition: what is absent stays, a new schedule begins now. A payload is checked by no schema here. */
  async update(id: string, edit: CronEdit): Promise<CronRecord> {
    checkEdit(edit)
    const { taskType, payload, ...options } = edit
    const task = await toSubmission(taskType ?? '', payload, options)
    const wire = { ...task, task_type: taskType, ...timingToWire(options) }
    const path = cronPath(id)
    return toCron(await this.#http.call({ method: 'PATCH', path, body: encodeSubmission(wire), repeatable: true }))
  }

  /** Its tasks stay, with their records; unfinished ones go on. */
  async delete(id: string): Promise<void> {
    await this.#http.call({ method: 'DELETE', path: cronPath(id), repeatable: true })
  }

  /** Makes no more tasks of it. Repeating it changes nothing. */
  async pause(id: string): Promise<CronRecord> {
    return toCron(await this.#http.call({ method: 'POST', path: cronPath(id, 'pause'), repeatable: true }))
  }

  /** Makes tasks of it again; what was missed is judged by its misfire policy. Repeating it changes nothing. */
  async resume(id: string): Promise<CronRecord> {
    return toCron(await this.#http.call({ method: 'POST', path: cronPath(id, 'resume'), repeatable: true }))
  }

  /** A task of it now, outside its schedule. Not repeated when the answer got lost. */
  async trigger(id: string): Promise<TaskHandle> {
    const path = cronPath(id, 'trigger')
    const answer = await this.#http.call<Record<string, unknown>>({ method: 'POST', path, repeatable: false })
    return this.#tasks.handleOf(answer.body)
  }

  /** The next `count` fire times, 10 unless given, at most 100; without jitter. */
  async fireTimes(id: string, count?: number): Promise<readonly Date[]> {
    const path = `${cronPath(id, 'fire-times')}${count === undefined ? '' : `?count=${count}`}`
    const answer = await this.#http.call({ method: 'GET', path, repeatable: true })
    return (fromWire(answer.body) as SchedulePreview).fireTimes
  }

  /** What it fired, and why not, the latest first; also of one that was deleted. */
  async firings(cron: string, options: PageOptions = {}): Promise<Page<FiringRecord>> {
    const path = `${cronPath(cron, 'firings')}${pageQuery('cron.firings', new URLSearchParams(), options)}`
    const answer = await this.#http.call({ method: 'GET', path, repeatable: true, signal: options.signal })
    const page = fromWire(answer.body) as Page<WireFiring>
    const items = page.items.map(({ id, ...firing }): FiringRecord => ({ ...firing, taskId: id }))
    keepRawItems(items, () => rawJson(answer.text).member('items'))
    return keepRaw({ ...page, items }, () => rawJson(answer.text))
  }

  /** The fire times of a schedule strictly after an instant (now unless given), and the schedule in words; nothing is stored. */
  async preview(timing: CronTiming, options: PreviewOptions = {}): Promise<SchedulePreview> {
    checkPreview(timing, options)
    const body = JSON.stringify({ ...timingToWire(timing), after: instant(options.after), count: options.count })
    const answer = await this.#http.call({ method: 'POST', path: '/cron-tasks/preview', body, repeatable: true })
    return keepRaw(fromWire(answer.body) as SchedulePreview, () => rawJson(answer.text))
  }

  /** Takes a crontab line by line: the same import again changes nothing. */
  async import(crontab: string, options: ImportOptions = {}): Promise<ImportedCrontab> {
    const body = encodeSubmission(await importToWire(crontab, options))
    const answer = await this.#http.call({ method: 'POST', path: '/cron-tasks/import', body, repeatable: true })
    return keepRaw(fromWire(answer.body) as ImportedCrontab, () => rawJson(answer.text))
  }
}

type WireCron = Omit<CronSummary, 'id'> & { readonly cronId: string }

/** The task's id is not the firing's own. */
type WireFiring = Omit<FiringRecord, 'taskId'> & { readonly id: string | null }

/** A record is addressed by its `id`. */
function named<T extends CronSummary>({ cronId, ...record }: WireCron): T {
  return { id: cronId, ...record } as T
}

function toCron(answer: ApiAnswer<unknown>): CronRecord {
  return keepRaw(named<CronRecord>(fromWire(answer.body) as WireCron), () => rawJson(answer.text))
}

async function encodeDefinition(
  task: AnyTask | string,
  { payload, ...options }: CronOptions & { readonly payload?: unknown },
  more: { readonly name?: string },
): Promise<string> {
  const submission = await toSubmission(task, payload, options)
  return encodeSubmission({ ...more, ...submission, ...timingToWire(options) })
}

const namePath = (name: string): string => `/cron-tasks/by-name/${encodeURIComponent(name)}`

function cronPath(id: string, call?: string): string {
  return `/cron-tasks/${encodeURIComponent(id)}${call === undefined ? '' : `/${call}`}`
}

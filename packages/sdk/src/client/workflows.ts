import { checkOptions, namesOf } from '../known-options.js'
import type { ApiAnswer, HttpClient } from './http.js'
import { type LongPoll, longPoll, waitQuery } from './long-poll.js'
import { type PageOptions, pageQuery } from './page-options.js'
import { keepRaw, keepRawItems, type RawJson, rawJson } from './raw-json.js'
import type { Page, TaskStatus } from './records.js'
import { encodeMembers } from './submission.js'
import type { WorkflowNode } from './task-graph.js'
import type { WaitOptions } from './task-handle.js'
import type { Tasks } from './tasks.js'
import { fromWire } from './wire.js'
import { type SubmitWorkflowOptions, submitWorkflowNames } from './workflow-builder.js'
import { WorkflowHandle } from './workflow-handle.js'
import type {
  AddedReceipt,
  NodeReceipt,
  WorkflowNodeRecord,
  WorkflowReceipt,
  WorkflowRecord,
  WorkflowStatus,
  WorkflowSummary,
} from './workflow-records.js'

/** Which workflows a list holds; all that is given must fit. */
export interface WorkflowFilters {
  readonly status?: WorkflowStatus
  readonly name?: string
  /** Only for a key that is bound to no tenant. */
  readonly tenant?: string
  /** Created at this instant or later. */
  readonly createdAfter?: Date | string
  /** Created before this instant. */
  readonly createdBefore?: Date | string
}

const parameters: Readonly<Record<keyof WorkflowFilters, string>> = {
  ...{ status: 'status', name: 'workflow_name', tenant: 'tenant_id' },
  ...{ createdAfter: 'created_after', createdBefore: 'created_before' },
}
const filterNames = { names: Object.keys(parameters), elsewhere: { workflow_name: 'name', tenant_id: 'tenant' } }
const getNames = {
  names: ['waitSeconds', 'signal'],
  elsewhere: { wait_seconds: 'waitSeconds', wait: 'waitSeconds', timeout: 'waitSeconds' },
}

/** How long to wait for the end of a workflow, and who is told meanwhile. */
export interface WorkflowWaitOptions extends WaitOptions {
  /** Told how it stands, about once a second (of a large graph less often), and at the end. */
  readonly onProgress?: (workflow: WorkflowRecord) => void
}

const waitNames = namesOf<WorkflowWaitOptions>({ timeout: true, signal: true, onProgress: true })

/** Shortest single wait with somebody who wants to see progress, s; and what part of the time reading the record may take. */
const WATCHED_WAIT_SECONDS = 1
const READING_SHARE = 0.05

/** `duly.workflows`: graphs of tasks. They are put together by {@link Duly.workflow}. */
export class Workflows {
  readonly #http: HttpClient
  readonly #tasks: Tasks

  constructor(http: HttpClient, tasks: Tasks) {
    this.#http = http
    this.#tasks = tasks
  }

  /**
   * Submits a workflow that is JSON already, as the API takes it: `rawJson('{"workflow_name": …, "tasks": […]}')`. Nothing of it is checked
   * here. A key that is given beside it takes the place of the one in it.
   *
   * @throws DulyApiError, DulyConnectionError
   */
  submit(workflow: RawJson, options: SubmitWorkflowOptions = {}): Promise<WorkflowHandle> {
    checkOptions('workflows.submit', options, submitWorkflowNames)
    const own = workflow.member('idempotency_key')?.value
    const idempotencyKey = options.idempotencyKey ?? (typeof own === 'string' ? own : undefined)
    const members = workflow.members().filter(([key]) => key !== 'idempotency_key')
    const key = idempotencyKey === undefined ? {} : { idempotencyKey }
    return this.submitText(encodeMembers(members), { ...options, ...key }, () => false)
  }

  /** Submits the text of a workflow that has no key in it. */
  async submitText(
    text: string,
    { idempotencyKey, traceparent, signal }: SubmitWorkflowOptions,
    owns: (node: WorkflowNode) => boolean,
  ): Promise<WorkflowHandle> {
    const key = idempotencyKey === undefined ? '' : `,"idempotency_key":${JSON.stringify(idempotencyKey)}`
    const answer = await this.#http.call<WireReceipt>({
      method: 'POST',
      path: '/workflows',
      body: `${text.slice(0, -1)}${key}}`,
      repeatable: idempotencyKey !== undefined,
      signal,
      ...(traceparent === undefined ? {} : { headers: { traceparent } }),
    })
    // 202: a new workflow; 200: an earlier submission with the same key made it.
    const isReplay = answer.status === 200
    return new WorkflowHandle({ workflows: this, tasks: this.#tasks, receipt: receiptOf(answer), isReplay, owns })
  }

  /** The record; with `waitSeconds` (0 to 60) the server holds the answer until no task of it is open, or that long. */
  async get(
    id: string,
    options: { readonly waitSeconds?: number; readonly signal?: AbortSignal } = {},
  ): Promise<WorkflowRecord> {
    checkOptions('workflows.get', options, getNames)
    const { query, waitMs } = waitQuery(options.waitSeconds)
    const path = `${workflowPath(id)}${query}`
    const { signal } = options
    return toWorkflow(await this.#http.call({ method: 'GET', path, repeatable: true, waitMs, signal }))
  }

  /**
   * The record once no task of it is open; or as it stands when `timeout` is over. Waits on through an outage of the server of up to a
   * minute.
   */
  async wait(id: string, options: WorkflowWaitOptions = {}): Promise<WorkflowRecord> {
    checkOptions('workflows.wait', options, { names: waitNames })
    const { onProgress, ...limits } = options
    const ask = (poll: LongPoll) => this.get(id, poll)
    return longPoll(onProgress ? watched(ask, onProgress) : ask, ({ status }) => status !== 'RUNNING', limits)
  }

  /** The handle of a workflow that was submitted elsewhere, with the tasks that it has now, added ones too. */
  async handle(id: string): Promise<WorkflowHandle> {
    const { status, graph } = await this.get(id)
    const nodes = new Map(graph.map((node) => [node.name, node]))
    const receipt = { id, status, tasks: nodes }
    const owns = ({ name, type }: WorkflowNode) => nodes.get(name)?.taskType === type
    return new WorkflowHandle({ workflows: this, tasks: this.#tasks, receipt, isReplay: false, owns })
  }

  /** Cancels what waits at once, and marks what runs: RUNNING with `cancelRequested` until that has ended. Repeating it changes nothing. */
  async cancel(id: string): Promise<WorkflowSummary> {
    const answer = await this.#http.call({ method: 'POST', path: workflowPath(id, 'cancel'), repeatable: true })
    return keepRaw(summaryOf(fromWire(answer.body) as WireSummary), () => rawJson(answer.text))
  }

  /** Runs what failed of a FAILED or CANCELLED workflow again, and what that blocked; what succeeded stays. */
  async retry(id: string): Promise<WorkflowRecord> {
    return toWorkflow(await this.#http.call({ method: 'POST', path: workflowPath(id, 'retry'), repeatable: false }))
  }

  /** A page of workflows, the newest first. It may be short, or empty, and yet have a `nextCursor`; see {@link all}. */
  async list(filters: WorkflowFilters = {}, page: PageOptions = {}): Promise<Page<WorkflowSummary>> {
    checkOptions('workflows.list', filters, filterNames)
    const search = new URLSearchParams()
    for (const [name, parameter] of Object.entries(parameters)) {
      const value = filters[name as keyof WorkflowFilters]
      if (value !== undefined) search.set(parameter, value instanceof Date ? value.toISOString() : value)
    }
    const path = `/workflows${pageQuery('workflows.list', search, page)}`
    const answer = await this.#http.call({ method: 'GET', path, repeatable: true, signal: page.signal })
    const found = fromWire(answer.body) as Page<WireSummary>
    const items = found.items.map(summaryOf)
    keepRawItems(items, () => rawJson(answer.text).member('items'))
    return keepRaw({ ...found, items }, () => rawJson(answer.text))
  }

  /** Every workflow that fits, the newest first, page by page as they are taken. */
  async *all(
    filters: WorkflowFilters = {},
    options: Omit<PageOptions, 'cursor'> = {},
  ): AsyncGenerator<WorkflowSummary, void> {
    for (let cursor: string | null = null; ; ) {
      const page: Page<WorkflowSummary> = await this.list(filters, {
        ...options,
        ...(cursor === null ? {} : { cursor }),
      })
      yield* page.items
      if (page.nextCursor === null) return
      cursor = page.nextCursor
    }
  }

  /**
   * Adds tasks from one that runs; for handlers, as `context.addTasks`. The same names with the same bodies again add nothing, so it is
   * repeated when an answer got lost.
   *
   * @param tasks the JSON texts of the tasks
   */
  async addTasks(
    id: string,
    { taskId, lease, tasks, traceparent, signal }: TaskAddition,
  ): Promise<ReadonlyMap<string, AddedReceipt>> {
    const head = JSON.stringify({ task_id: taskId, lease })
    const body = `${head.slice(0, -1)},"tasks":[${tasks.join(',')}]}`
    const path = workflowPath(id, 'tasks')
    const headers = traceparent === undefined ? {} : { headers: { traceparent } }
    const answer = await this.#http.call<WireAdded>({
      method: 'POST',
      path,
      body,
      repeatable: true,
      signal,
      ...headers,
    })
    const replayed = new Set(answer.body.replayed)
    const nodes = [...nodesOf(answer.body)]
    return new Map(nodes.map(([name, receipt]) => [name, { ...receipt, isReplay: replayed.has(name) }]))
  }
}

/** Asks in short waits and tells what was seen. A record has the whole graph: the longer one takes to read, the longer is the next wait. */
function watched(
  ask: (poll: LongPoll) => Promise<WorkflowRecord>,
  onProgress: (workflow: WorkflowRecord) => void,
): (poll: LongPoll) => Promise<WorkflowRecord> {
  let longestSeconds = WATCHED_WAIT_SECONDS
  return async (poll) => {
    const waitSeconds = Math.min(poll.waitSeconds, longestSeconds)
    const beganMs = performance.now()
    const workflow = await ask({ ...poll, waitSeconds })
    const readingSeconds = (performance.now() - beganMs) / 1_000 - waitSeconds
    longestSeconds = Math.max(WATCHED_WAIT_SECONDS, readingSeconds / READING_SHARE)
    onProgress(workflow)
    return workflow
  }
}

/** Tasks to add, and who adds them. */
export interface TaskAddition {
  readonly taskId: string
  readonly lease: string
  readonly tasks: readonly string[]
  /** Context of a trace (W3C), continued by the tasks. */
  readonly traceparent?: string
  readonly signal?: AbortSignal
}

/** Keys are the names that users gave. */
interface WireNodes {
  readonly tasks: Readonly<Record<string, TaskStatus>>
  readonly task_ids: Readonly<Record<string, string>>
}

interface WireAdded extends WireNodes {
  readonly replayed?: readonly string[]
}

interface WireReceipt extends WireNodes {
  readonly workflow_id: string
  readonly status: WorkflowStatus
}

function nodesOf({ tasks, task_ids: ids }: WireNodes): ReadonlyMap<string, NodeReceipt> {
  return new Map(Object.entries(tasks).map(([name, status]) => [name, { id: ids[name] ?? '', status }]))
}

function receiptOf({ body, text }: ApiAnswer<WireReceipt>): WorkflowReceipt {
  return keepRaw({ id: body.workflow_id, status: body.status, tasks: nodesOf(body) }, () => rawJson(text))
}

type WireSummary = Omit<WorkflowSummary, 'id' | 'name'> & { readonly workflowId: string; readonly workflowName: string }
type WireNode = Omit<WorkflowNodeRecord, 'name'> & { readonly nodeName: string }
type WireWorkflow = WireSummary &
  Omit<WorkflowRecord, keyof WorkflowSummary | 'graph'> & { readonly graph: readonly WireNode[] }

/** A record is addressed by its `id`. */
function summaryOf<T extends WireSummary>({ workflowId: id, workflowName: name, ...rest }: T) {
  return { id, name, ...rest }
}

function toWorkflow(answer: ApiAnswer<unknown>): WorkflowRecord {
  const { graph, ...record } = summaryOf(fromWire(answer.body) as WireWorkflow)
  const nodes = graph.map(({ nodeName: name, ...node }) => ({ name, ...node }))
  return keepRaw({ ...record, graph: nodes }, () => rawJson(answer.text))
}

function workflowPath(id: string, call?: string): string {
  return `/workflows/${encodeURIComponent(id)}${call === undefined ? '' : `/${call}`}`
}

import type { Metadata } from '../client/records.js'
import type { AnyTask } from '../client/submission.js'
import type { TaskHandle } from '../client/task-handle.js'
import { AddedTasks, WorkflowBuilder } from '../client/workflow-builder.js'
import type { AddedReceipt } from '../client/workflow-records.js'
import type { Attempt } from './attempt.js'
import { type ChildOptions, type Children, checkChild } from './child-tasks.js'
import { AttemptDependencies, type Dependencies } from './dependencies.js'
import { RetryAfter, Snooze } from './handler-errors.js'
import type { Checkpoint, ContextServices, TaskContext } from './task-context.js'

const NO_METADATA: Metadata = Object.freeze({})
/** Of what names no tenant: it need not be named. */
const DEFAULT_TENANT = 'default'
const NO_RESULTS: Readonly<Record<string, unknown>> = Object.freeze({})

/** Reads through to the grant: nothing is copied for a handler that looks at nothing. */
export class HandlerContext implements TaskContext {
  readonly #attempt: Attempt
  readonly #services: ContextServices
  #checkpoint: Checkpoint | null = null
  #dependencies: Dependencies | null = null
  #children: Children | null = null

  constructor(attempt: Attempt, services: ContextServices) {
    this.#attempt = attempt
    this.#services = services
  }

  get signal(): AbortSignal {
    return this.#attempt.signal
  }

  get taskId(): string {
    return this.#attempt.grant.task_id
  }

  get taskType(): string {
    return this.#attempt.grant.task_type
  }

  get queue(): string {
    return this.#attempt.grant.queue
  }

  get attempt(): number {
    return this.#attempt.grant.attempt
  }

  get failures(): number {
    return this.#attempt.grant.failures
  }

  get deadline(): Date {
    return new Date(this.#attempt.grant.deadline_at)
  }

  get fence(): string {
    return this.#attempt.grant.lease
  }

  get idempotencyKey(): string {
    return this.#attempt.grant.idempotency_key
  }

  get cronId(): string | null {
    return this.#attempt.grant.cron_id ?? null
  }

  get scheduledAt(): Date | null {
    const { scheduled_at: at } = this.#attempt.grant
    return at === undefined || at === null ? null : new Date(at)
  }

  get metadata(): Metadata {
    return this.#attempt.grant.metadata ?? NO_METADATA
  }

  get traceparent(): string | null {
    return this.#attempt.grant.traceparent ?? null
  }

  get workflowId(): string | null {
    return this.#attempt.grant.workflow_id ?? null
  }

  get nodeName(): string | null {
    return this.#attempt.grant.node_name ?? null
  }

  get dependencies(): Dependencies {
    this.#dependencies ??= new AttemptDependencies(this.#attempt, (names) =>
      this.#services.dependencyResults(this.#attempt, names),
    )
    return this.#dependencies
  }

  get dependencyResults(): Readonly<Record<string, unknown>> {
    return this.#attempt.grant.dependency_results ?? NO_RESULTS
  }

  get checkpoint(): Checkpoint {
    this.#checkpoint ??= new AttemptCheckpoint(this.#attempt, this.#services)
    return this.#checkpoint
  }

  // Calls are getters, so that they work when a handler takes them out of its context: `(payload, { submit, log }) => …`.

  get progress(): TaskContext['progress'] {
    return (percent, note) => this.#services.progress(this.#attempt, percent, note ?? null)
  }

  get log(): TaskContext['log'] {
    return (level, message) => this.#services.log(this.#attempt, level, message)
  }

  get submit(): TaskContext['submit'] {
    const submit = (task: AnyTask | string, payload?: unknown, options: ChildOptions = {}): Promise<TaskHandle> =>
      this.#attempt.track(this.#submit(task, payload, options))
    return submit as TaskContext['submit']
  }

  get workflow(): TaskContext['workflow'] {
    return (name, options = {}) => {
      const { workflows } = this.#services
      return new WorkflowBuilder({ workflows, ...this.#trace }, name, { ...this.#tenant, ...options })
    }
  }

  get addTasks(): TaskContext['addTasks'] {
    return (build) => this.#attempt.track(this.#addTasks(build))
  }

  get retryAfter(): TaskContext['retryAfter'] {
    return (delay, cause) => new RetryAfter(delay, cause)
  }

  get snooze(): TaskContext['snooze'] {
    return (delay) => new Snooze(delay)
  }

  get #trace(): { readonly traceparent?: string } {
    return this.traceparent === null ? {} : { traceparent: this.traceparent }
  }

  /** As its metadata names it; of a task whose metadata does not (the workflow's, the key's), as the server does. */
  get #tenant(): { readonly tenant?: string } {
    const named = this.metadata.tenant_id
    if (typeof named === 'string') return { tenant: named }
    const { tenant_id: tenant = DEFAULT_TENANT } = this.#attempt.grant
    return tenant === DEFAULT_TENANT ? {} : { tenant }
  }

  async #submit(task: AnyTask | string, payload: unknown, options: ChildOptions): Promise<TaskHandle> {
    checkChild(task, options)
    if (this.workflowId !== null && options.idempotencyKey === undefined) {
      this.#children ??= this.#services.childrenOf(this.#attempt)
      return this.#children.submit(task, payload, { ...this.#trace, ...options })
    }
    const { name, ...rest } = options
    const key = name === undefined ? {} : { idempotencyKey: `${this.taskId}/${name}` }
    return this.#services.tasks.submitAny(task, payload, { ...this.#trace, ...this.#tenant, ...rest, ...key })
  }

  async #addTasks(build: (graph: AddedTasks) => unknown): Promise<ReadonlyMap<string, AddedReceipt>> {
    if (this.workflowId === null) throw new Error('this task is none of a workflow: there is nothing to add tasks to')
    if (typeof build !== 'function')
      throw new TypeError("addTasks: give a function: (graph) => graph.task('name', task, payload)")
    const graph = new AddedTasks()
    await build(graph)
    if (graph.size === 0) return new Map()
    return this.#services.addTasks(this.#attempt, await graph.texts())
  }
}

class AttemptCheckpoint implements Checkpoint {
  readonly #attempt: Attempt
  readonly #services: ContextServices
  #value: unknown

  constructor(attempt: Attempt, services: ContextServices) {
    this.#attempt = attempt
    this.#services = services
    this.#value = attempt.grant.checkpoint
  }

  get value(): unknown {
    return this.#value
  }

  async set(value: unknown): Promise<void> {
    await this.#services.saveCheckpoint(this.#attempt, value)
    this.#value = value
  }
}

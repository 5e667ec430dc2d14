import type { ResultType } from '../define-task.js'
import { toMs } from '../duration.js'
import { WorkflowFailedError, WorkflowTimeoutError } from '../errors.js'
import { WorkflowNode } from './task-graph.js'
import type { TaskHandle } from './task-handle.js'
import type { Tasks } from './tasks.js'
import type { WorkflowReceipt, WorkflowRecord, WorkflowSummary } from './workflow-records.js'
import type { Workflows, WorkflowWaitOptions } from './workflows.js'

/** What a handle is made of. */
export interface WorkflowHandleSource {
  readonly workflows: Workflows
  readonly tasks: Tasks
  readonly receipt: WorkflowReceipt
  readonly isReplay: boolean
  /** Whether a node is one of the graph that was submitted. */
  readonly owns: (node: WorkflowNode) => boolean
}

/** A workflow that was submitted: wait for it, look at it and its tasks, cancel it, run what failed again. */
export class WorkflowHandle {
  readonly id: string
  readonly receipt: WorkflowReceipt
  /** True when an earlier submission with the same idempotency key made the workflow. */
  readonly isReplay: boolean
  readonly #source: WorkflowHandleSource

  constructor(source: WorkflowHandleSource) {
    this.id = source.receipt.id
    this.receipt = source.receipt
    this.isReplay = source.isReplay
    this.#source = source
  }

  node<Name extends string, Result>(node: WorkflowNode<Name, Result>): TaskHandle<Result>
  node<Result>(name: string, task: ResultType<Result>): TaskHandle<Result>
  node(name: string): TaskHandle
  /**
   * The handle of one of its tasks: `await handle.node(account).result()`; by its name with the definition that decodes its result.
   *
   * @throws RangeError when the workflow has no such task; of those that were added later `duly.workflows.handle(id)` knows
   */
  node(node: WorkflowNode | string, task?: ResultType<unknown>): TaskHandle {
    const name = typeof node === 'string' ? node : node.name
    const receipt = this.receipt.tasks.get(name)
    if (receipt === undefined || (node instanceof WorkflowNode && !this.#source.owns(node))) {
      const known = `workflow ${this.id} has no task ${JSON.stringify(name)} that this handle knows of`
      throw new RangeError(`${known}; duly.workflows.handle('${this.id}') knows of those that were added since`)
    }
    const definition = typeof node === 'string' ? (task ?? { type: name, result: undefined }) : node
    return this.#source.tasks.handle(receipt, definition)
  }

  /**
   * The record, as soon as the workflow has SUCCEEDED: by repeated long polls of at most 30 s. Results are those of its tasks; see
   * {@link node}.
   *
   * @throws WorkflowFailedError when it ended FAILED or CANCELLED; WorkflowTimeoutError
   */
  async result(options: WorkflowWaitOptions = {}): Promise<WorkflowRecord> {
    const record = await this.#source.workflows.wait(this.id, options)
    if (record.status === 'RUNNING') {
      throw new WorkflowTimeoutError(this.id, toMs(options.timeout ?? Number.MAX_SAFE_INTEGER))
    }
    if (record.status !== 'SUCCEEDED') throw new WorkflowFailedError(record)
    return record
  }

  get(): Promise<WorkflowRecord> {
    return this.#source.workflows.get(this.id)
  }

  /** Cancels what waits at once; the handlers of what runs are told through their signals. */
  cancel(): Promise<WorkflowSummary> {
    return this.#source.workflows.cancel(this.id)
  }

  /** Runs what failed or was cancelled again, and what that blocked; what succeeded stays. */
  retry(): Promise<WorkflowRecord> {
    return this.#source.workflows.retry(this.id)
  }
}

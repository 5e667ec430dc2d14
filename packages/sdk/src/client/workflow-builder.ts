import { checkOptions, namesOf } from '../known-options.js'
import { instant } from './cron-options.js'
import type { RawJson } from './raw-json.js'
import type { Metadata } from './records.js'
import { describe, encodeSubmission, metadataOf } from './submission.js'
import { TaskGraph, type WorkflowNode } from './task-graph.js'
import type { WorkflowHandle } from './workflow-handle.js'
import type { FailurePolicy } from './workflow-records.js'
import type { Workflows } from './workflows.js'

/** What belongs to a workflow as a whole. */
export interface WorkflowOptions {
  /** `fail_dependents` unless given: the rest of the graph goes on; `fail_fast` cancels all that is open. */
  readonly failurePolicy?: FailurePolicy
  /** Nothing of it starts before this; in the past means now. */
  readonly scheduledAt?: Date | string
  /** `metadata.tenant_id`; only a key that is bound to no tenant may choose it. */
  readonly tenant?: string
  readonly metadata?: Metadata | RawJson
}

/** What belongs to one submission of it. */
export interface SubmitWorkflowOptions {
  /** The same key with the same request makes one workflow only, and makes the submission safe to repeat. */
  readonly idempotencyKey?: string
  /** Context of the caller's trace (W3C), continued by the tasks. */
  readonly traceparent?: string
  readonly signal?: AbortSignal
}

const workflowNames = {
  names: namesOf<WorkflowOptions>({ failurePolicy: true, scheduledAt: true, tenant: true, metadata: true }),
  elsewhere: { ...{ failure_policy: 'failurePolicy', scheduled_at: 'scheduledAt' }, tenant_id: 'tenant' },
}

/** The names of {@link SubmitWorkflowOptions}. */
export const submitWorkflowNames = {
  names: namesOf<SubmitWorkflowOptions>({ idempotencyKey: true, traceparent: true, signal: true }),
  elsewhere: { idempotency_key: 'idempotencyKey' },
}

/** Who takes the text of a workflow, and the trace that its tasks continue unless a submission says otherwise. */
export interface WorkflowTarget {
  readonly workflows: Pick<Workflows, 'submitText'>
  readonly traceparent?: string
}

/** A workflow that is being put together; each `submit` makes one of it. */
export class WorkflowBuilder extends TaskGraph<WorkflowNode> {
  readonly name: string
  readonly #target: WorkflowTarget
  readonly #options: WorkflowOptions

  constructor(target: WorkflowTarget, name: string, options: WorkflowOptions = {}) {
    super(`workflow ${JSON.stringify(name)}`, { mayNameOthers: false })
    if (typeof name !== 'string') {
      throw new TypeError(`workflow: the name comes first, as text; it is ${describe(name)}`)
    }
    checkOptions('workflow', options, workflowNames)
    this.name = name
    this.#target = target
    this.#options = options
  }

  /**
   * Submits it, all tasks or none; when this resolves, it is durable (I1). Without an idempotency key a submission whose answer got lost is
   * not sent again, because it could make a second workflow.
   *
   * @throws InvalidPayloadError, DulyApiError, DulyConnectionError, TypeError for an unknown option
   */
  async submit(options: SubmitWorkflowOptions = {}): Promise<WorkflowHandle> {
    checkOptions('workflow.submit', options, submitWorkflowNames)
    const { failurePolicy, scheduledAt } = this.#options
    const head = encodeSubmission({
      workflow_name: this.name,
      failure_policy: failurePolicy,
      scheduled_at: instant(scheduledAt),
      metadata: metadataOf(this.#options),
    })
    const tasks = await this.encode()
    const text = `${head.slice(0, -1)},"tasks":[${tasks.join(',')}]}`
    const { workflows, traceparent } = this.#target
    const trace = traceparent === undefined ? {} : { traceparent }
    return workflows.submitText(text, { ...trace, ...options }, (node) => this.owns(node))
  }
}

/** Tasks that a running task adds behind itself: they may wait for each other, and for tasks of the workflow by their names. */
export class AddedTasks extends TaskGraph<WorkflowNode | string> {
  constructor() {
    super('addTasks', { mayNameOthers: true })
  }

  /** @throws InvalidPayloadError, RangeError for a duration that is none */
  texts(): Promise<readonly string[]> {
    return this.encode()
  }
}

import type { TaskStatus } from '../client/records.js'
import type { Tasks } from '../client/tasks.js'
import type { SubmitWorkflowOptions } from '../client/workflow-builder.js'
import { WorkflowHandle } from '../client/workflow-handle.js'
import { Workflows } from '../client/workflows.js'
import { NoServer } from './recorded-tasks.js'

/** A task of a workflow, as it travels. */
export interface AddedTask {
  readonly name: string
  readonly taskType: string
  readonly payload: unknown
  /** Names of the tasks that it waits for. Of one that was added: none is the task that added it. */
  readonly after: readonly string[]
}

/** A workflow that a handler submitted. */
export interface SubmittedWorkflow {
  readonly name: string
  readonly tasks: readonly AddedTask[]
  /** With the trace that it inherits; the tenant is in its metadata. */
  readonly options: SubmitWorkflowOptions
  readonly metadata: unknown
}

/** A task of a workflow on the wire. */
export interface WireNode {
  readonly task_id: string
  readonly task_type: string
  readonly payload?: unknown
  readonly dependencies?: readonly string[]
}

export const addedTask = ({ task_id, task_type, payload = null, dependencies = [] }: WireNode): AddedTask => ({
  ...{ name: task_id, taskType: task_type, payload, after: dependencies },
})

/** Takes workflows as a server would, and keeps them. */
export class RecordedWorkflows extends Workflows {
  readonly submitted: SubmittedWorkflow[] = []
  readonly #tasks: Tasks

  constructor(tasks: Tasks) {
    super(new NoServer(), tasks)
    this.#tasks = tasks
  }

  override async submitText(
    text: string,
    options: SubmitWorkflowOptions,
    owns: Parameters<Workflows['submitText']>[2],
  ): Promise<WorkflowHandle> {
    const { workflow_name: name, metadata = null, tasks: nodes } = JSON.parse(text) as WireWorkflow
    this.submitted.push({ name, tasks: nodes.map(addedTask), options, metadata })
    const statusOf = ({ dependencies = [] }: WireNode): TaskStatus =>
      dependencies.length === 0 ? 'PENDING' : 'BLOCKED'
    const tasks = new Map(
      nodes.map((node) => [node.task_id, { id: `task-submitted-${node.task_id}`, status: statusOf(node) }]),
    )
    const receipt = { id: `wf-submitted-${this.submitted.length}`, status: 'RUNNING', tasks } as const
    return new WorkflowHandle({ workflows: this, tasks: this.#tasks, receipt, isReplay: false, owns })
  }
}

interface WireWorkflow {
  readonly workflow_name: string
  readonly metadata?: unknown
  readonly tasks: readonly WireNode[]
}

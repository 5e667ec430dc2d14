import {
  type AnyTask,
  checkTask,
  checkTaskOptions,
  encodeSubmission,
  type SubmitOptions,
  submitOptionNames,
  toSubmission,
} from '../client/submission.js'
import type { TaskHandle } from '../client/task-handle.js'
import type { Tasks } from '../client/tasks.js'
import { checkOptions, type OptionNames } from '../known-options.js'
import type { Attempt } from './attempt.js'
import { ChildBatches, type SendChildren } from './child-batches.js'
import { ChildNames } from './child-names.js'
import { orAborted } from './or-aborted.js'

/** What a submission from a handler may say. */
export interface ChildOptions extends SubmitOptions {
  /**
   * Names it: each attempt that submits the same under this name gets the one child, and one that submits something else under it is refused.
   * Of a task of a workflow it is the child's name there, else it belongs to the task that submits. In place of `idempotencyKey`.
   */
  readonly name?: string
}

const childNames: OptionNames = { ...submitOptionNames, names: [...submitOptionNames.names, 'name'] }

/** @throws TypeError for a task that is none, an option that no submission has, and for two keys */
export function checkChild(task: unknown, options: ChildOptions): void {
  checkTask('submit', task)
  checkOptions('submit', options, childNames)
  checkTaskOptions('submit', options)
  if (options.name === undefined || options.idempotencyKey === undefined) return
  throw new TypeError('submit: name and idempotencyKey are two keys of one task; give one of them')
}

/** Takes what a task of a workflow submits. */
export interface Children {
  submit(task: AnyTask | string, payload: unknown, options: ChildOptions): Promise<TaskHandle>
}

/** Children of one attempt: tasks of its workflow, which start beside it. */
export class ChildTasks implements Children {
  readonly #tasks: Tasks
  readonly #names: ChildNames
  readonly #batches: ChildBatches

  constructor({ grant }: Attempt, tasks: Tasks, send: SendChildren) {
    this.#tasks = tasks
    this.#names = new ChildNames(grant.node_name ?? '')
    this.#batches = new ChildBatches(send)
  }

  async submit(task: AnyTask | string, payload: unknown, options: ChildOptions): Promise<TaskHandle> {
    const { name, traceparent, signal, ...rest } = options
    const body = encodeSubmission(await toSubmission(task, payload, rest))
    signal?.throwIfAborted()
    const definition = typeof task === 'string' ? { type: task, result: undefined } : task
    const drawn = name === undefined ? this.#names.take(definition.type, body) : null
    const child = { name: name ?? drawn?.text ?? '', body, traceparent }
    try {
      return this.#tasks.handle(await orAborted(this.#batches.add(child), signal), definition)
    } catch (error) {
      drawn?.giveBack()
      throw error
    }
  }
}

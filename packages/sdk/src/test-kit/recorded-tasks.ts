import { type ApiAnswer, HttpClient } from '../client/http.js'
import { resolveOptions } from '../client/options.js'
import type { TaskStatus } from '../client/records.js'
import { type AnyTask, toSubmission } from '../client/submission.js'
import type { TaskHandle } from '../client/task-handle.js'
import { Tasks } from '../client/tasks.js'
import type { ChildOptions } from '../worker/child-tasks.js'

/** A task that a handler submitted. */
export interface Submission {
  readonly taskType: string
  readonly payload: unknown
  /** With what the task inherits: trace, and outside of a workflow the tenant; in a workflow with the name that was given. */
  readonly options: ChildOptions
}

/** There is no server behind a handler that runs alone. */
export class NoServer extends HttpClient {
  constructor() {
    super(resolveOptions({ url: 'http://127.0.0.1:9' }))
  }

  override async call<T>(): Promise<ApiAnswer<T>> {
    throw new Error('runHandler has no server: a handler that asks for what it submitted is tested on a test server')
  }
}

/** Takes submissions as a server would, checked by the same schema, and keeps them. */
export class RecordedTasks extends Tasks {
  readonly submitted: Submission[] = []

  constructor() {
    super(new NoServer())
  }

  override async submitAny(task: AnyTask | string, payload?: unknown, options: ChildOptions = {}): Promise<TaskHandle> {
    await toSubmission(task, payload, options)
    const taskType = typeof task === 'string' ? task : task.type
    this.submitted.push({ taskType, payload, options })
    const status: TaskStatus =
      options.delay === undefined && options.scheduledAt === undefined ? 'PENDING' : 'SCHEDULED'
    const definition = typeof task === 'string' ? { type: task, result: undefined } : task
    return this.handle({ id: `task-submitted-${this.submitted.length}`, status }, definition)
  }
}

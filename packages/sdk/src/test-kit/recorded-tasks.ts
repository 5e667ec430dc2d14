import { type ApiAnswer, HttpClient } from '../client/http.js'
import { resolveOptions } from '../client/options.js'
import type { TaskStatus } from '../client/records.js'
import { type AnyTask, type SubmitOptions, toSubmission } from '../client/submission.js'
import { TaskHandle } from '../client/task-handle.js'
import { Tasks } from '../client/tasks.js'

/** A task that a handler submitted. */
export interface Submission {
  readonly taskType: string
  readonly payload: unknown
  /** With what the task inherits: tenant and trace. */
  readonly options: SubmitOptions
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

  override async submit(task: AnyTask | string, payload?: unknown, options: SubmitOptions = {}): Promise<TaskHandle> {
    await toSubmission(task, payload, options)
    const taskType = typeof task === 'string' ? task : task.type
    this.submitted.push({ taskType, payload, options })
    const status: TaskStatus =
      options.delay === undefined && options.scheduledAt === undefined ? 'PENDING' : 'SCHEDULED'
    const receipt = { id: `task-submitted-${this.submitted.length}`, status, scheduledAt: null, createdAt: null }
    const result = typeof task === 'string' ? undefined : task.result
    return new TaskHandle({ tasks: this, taskType, receipt, isReplay: false, result })
  }
}

import { beforeEach } from 'vitest'
import { started } from './started.js'
import type { TestAnswer, TestApi } from './test-api.js'

const path = '/api/v1/workflows'

/** The example of the documents: one task, two that wait for it, one that waits for both. */
export const onboarding = {
  workflow_name: 'user-onboarding',
  tasks: [
    { task_id: 'create-account', task_type: 'create_account', payload: { user: 'a@example.com' }, dependencies: [] },
    { task_id: 'send-welcome-email', task_type: 'send_email', dependencies: ['create-account'] },
    { task_id: 'setup-defaults', task_type: 'setup_user_defaults', dependencies: ['create-account'] },
    { task_id: 'notify-sales', task_type: 'notify_slack', dependencies: ['send-welcome-email', 'setup-defaults'] },
  ],
}
/** A task of a workflow. */
export const task = (task_id: string, more: object = {}) => ({ task_id, task_type: 't', ...more })

/** Calls about workflows of an API that is new for each test of the calling file. */
export class WorkflowCalls {
  #started: TestApi | undefined

  constructor() {
    beforeEach(() => {
      this.#started = started()
    })
  }

  get #api(): TestApi {
    if (!this.#started) throw new Error('the API is started before each test')
    return this.#started
  }

  get services(): TestApi['services'] {
    return this.#api.services
  }

  post(url: string, body: string, headers?: Record<string, string>): Promise<TestAnswer> {
    return this.#api.post(url, body, headers)
  }

  submit(body: object, headers?: Record<string, string>): Promise<TestAnswer> {
    return this.submitText(JSON.stringify(body), headers)
  }

  submitText(body: string, headers?: Record<string, string>): Promise<TestAnswer> {
    return this.post(path, body, headers)
  }

  withTasks(...tasks: object[]): Promise<TestAnswer> {
    return this.submit({ workflow_name: 'w', tasks })
  }

  call(method: string, under: string, body?: object): Promise<TestAnswer> {
    const sent =
      body === undefined ? {} : { payload: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
    return this.#api.call({ method, url: `${path}${under}`, ...sent })
  }
}

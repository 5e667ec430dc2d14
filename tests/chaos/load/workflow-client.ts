import { decodeId, encodeId, type FailurePolicy, type TaskStatus, type Uuid, type WorkflowStatus } from '@duly/domain'
import type { WorkflowCall, WorkflowLook, WorkflowSubmission } from '../checker/workflow-log.js'
import { exchange, type Reply } from './exchange.js'
import type { DrawnWorkflow } from './graphs.js'
import type { PlannedPayload } from './plans.js'

interface Body {
  readonly workflow_id: string
  readonly status: WorkflowStatus
  readonly completed_at: string | null
  readonly cancel_requested: boolean
  readonly failure_policy: FailurePolicy
  readonly failed: number
  readonly run: number
  readonly tasks: Readonly<Record<string, TaskStatus>>
  readonly task_ids: Readonly<Record<string, string>>
}

/** A node of a workflow that was accepted, and what it was asked for with. */
export interface AcceptedNode {
  readonly id: Uuid
  readonly payload: PlannedPayload
}

export interface AcceptedWorkflow {
  readonly id: Uuid
  readonly nodes: readonly AcceptedNode[]
}

/** A client of workflows that keeps a log of what it did and heard; it repeats nothing by itself. */
export class WorkflowClient {
  readonly log: WorkflowCall[] = []
  readonly #url: () => string

  /** @param url where the api is; asked before each call */
  constructor(url: () => string) {
    this.#url = url
  }

  /** Its id and those of its nodes; null when it was not accepted. */
  async submit({ asked, body }: DrawnWorkflow): Promise<AcceptedWorkflow | null> {
    const { body: answer, retryAfter: _, ...reply } = await this.#send('POST', '/workflows', body)
    const { workflow_id, task_ids = {} } = answer
    const id = reply.outcome === 'ok' && workflow_id ? decodeId('wf', workflow_id) : null
    const call: WorkflowSubmission = { ...reply, verb: 'submit', asked, id }
    this.log.push(call)
    const payloads = new Map(asked.nodes.map(({ name, payload }) => [name, payload]))
    const nodes = Object.entries(task_ids).flatMap(([name, each]) => {
      const payload = payloads.get(name)
      return payload ? [{ id: decodeId('task', each), payload }] : []
    })
    return id === null ? null : { id, nodes }
  }

  get(id: Uuid): Promise<WorkflowLook> {
    return this.#about('get', id, ['GET', ''])
  }

  cancel(id: Uuid): Promise<WorkflowLook> {
    return this.#about('cancel', id, ['POST', '/cancel'])
  }

  retry(id: Uuid): Promise<WorkflowLook> {
    return this.#about('retry', id, ['POST', '/retry'])
  }

  async #about(
    verb: WorkflowLook['verb'],
    id: Uuid,
    [method, action]: readonly ['GET' | 'POST', string],
  ): Promise<WorkflowLook> {
    const { body, retryAfter: _, ...reply } = await this.#send(method, `/workflows/${encodeId('wf', id)}${action}`)
    const isOk = reply.outcome === 'ok'
    const told = { observed: isOk ? (body.status ?? null) : null, completedAt: body.completed_at ?? null }
    const call: WorkflowLook = { ...reply, ...told, verb, id, isStopping: isOk && isStopping(body) }
    this.log.push(call)
    return call
  }

  #send(method: 'GET' | 'POST', path: string, content?: unknown): Promise<Reply<Body>> {
    return exchange<Body>(this.#url(), { method, path, content })
  }
}

/** Of later runs a failure can be one that no retry could take back, beside which others go on. */
function isStopping({ cancel_requested, failure_policy, failed = 0, run }: Partial<Body>): boolean {
  return cancel_requested === true || (failure_policy === 'fail_fast' && run === 1 && failed > 0)
}

import { decodeId, encodeId, type TaskStatus, type Uuid } from '@duly/domain'
import type { Call, Change, QueueCall, SubmitCall, TaskCall } from '../checker/client-log.js'
import { exchange, type Reply, type Request } from './exchange.js'
import type { PlannedPayload } from './plans.js'

/** The body of a submission of the load. */
export interface Submission {
  readonly task_type: string
  readonly payload: PlannedPayload
  readonly idempotency_key?: string
  readonly [field: string]: unknown
}

interface Body {
  readonly task_id: string
  readonly status: TaskStatus
  readonly completed_at: string | null
  readonly cancelled_at: string | null
  readonly tasks: readonly { readonly task_id: string }[]
}

/**
 * A client that keeps a log of what it did and heard. Plain HTTP on purpose: the SDK repeats calls by itself, and the
 * checker has to know of each one.
 */
export class LoggingClient {
  readonly log: Call[] = []
  /** Every 503 that came, with its Retry-After. */
  readonly refusals: { readonly at: number; readonly code: string | null; readonly retryAfter: string | null }[] = []
  readonly #url: () => string

  /** @param url where the api is; asked before each call */
  constructor(url: () => string) {
    this.#url = url
  }

  async submit(submission: Submission): Promise<SubmitCall> {
    const reply = await this.#send('POST', '/tasks', submission)
    const ids = reply.outcome === 'ok' && reply.body.task_id ? [decodeId('task', reply.body.task_id)] : []
    return this.#logSubmission('submit', [submission], { ...reply, ids })
  }

  async submitBatch(submissions: readonly Submission[]): Promise<SubmitCall> {
    const reply = await this.#send('POST', '/tasks/batch', { tasks: submissions })
    const tasks = reply.outcome === 'ok' ? (reply.body.tasks ?? []) : []
    return this.#logSubmission('batch', submissions, {
      ...reply,
      ids: tasks.map(({ task_id }) => decodeId('task', task_id)),
    })
  }

  get(id: Uuid): Promise<TaskCall> {
    return this.#about('get', id, ['GET', ''])
  }

  cancel(id: Uuid): Promise<TaskCall> {
    return this.#about('cancel', id, ['POST', '/cancel'])
  }

  replay(id: Uuid): Promise<TaskCall> {
    return this.#about('replay', id, ['POST', '/retry'])
  }

  /** Takes a dead task out of the dead letters, for good. */
  async discard(id: Uuid): Promise<TaskCall> {
    return this.#told('discard', id, await this.#send('DELETE', `/dlq/${encodeId('task', id)}`))
  }

  /** @param payload what it was asked for with; an edit of it puts the same in its place, with the number of the edit */
  async edit(id: Uuid, change: Change, payload: PlannedPayload): Promise<TaskCall> {
    const { edit, ...fields } = change
    const content = { ...fields, ...(edit === undefined ? {} : { payload: { ...payload, edit } }) }
    return this.#told('edit', id, await this.#send('PATCH', `/tasks/${encodeId('task', id)}`, content), change)
  }

  async turn(verb: QueueCall['verb'], queue: string): Promise<QueueCall> {
    const { body: _, retryAfter: __, ...reply } = await this.#send('POST', `/queues/${queue}/${verb}`)
    const call: QueueCall = { ...reply, verb, queue }
    this.log.push(call)
    return call
  }

  async #about(
    verb: TaskCall['verb'],
    id: Uuid,
    [method, action]: readonly ['GET' | 'POST', string],
  ): Promise<TaskCall> {
    return this.#told(verb, id, await this.#send(method, `/tasks/${encodeId('task', id)}${action}`))
  }

  #told(verb: TaskCall['verb'], id: Uuid, answer: Reply<Body>, change?: Change): TaskCall {
    const { body, retryAfter: _, ...reply } = answer
    const observed = reply.outcome === 'ok' ? (body.status ?? null) : null
    const completedAt = body.completed_at ?? body.cancelled_at ?? null
    const call: TaskCall = { ...reply, verb, id, observed, completedAt, ...(change === undefined ? {} : { change }) }
    this.log.push(call)
    return call
  }

  #logSubmission(
    verb: SubmitCall['verb'],
    submissions: readonly Submission[],
    reply: Reply<Body> & { ids: Uuid[] },
  ): SubmitCall {
    const { body: _, retryAfter: __, ...rest } = reply
    const marks = submissions.map(({ payload }) => payload.mark)
    const call: SubmitCall = {
      ...rest,
      verb,
      marks,
      keys: submissions.map(({ idempotency_key }) => idempotency_key ?? null),
    }
    this.log.push(call)
    return call
  }

  async #send(method: Request['method'], path: string, content?: unknown): Promise<Reply<Body>> {
    const reply = await exchange<Body>(this.#url(), { method, path, content })
    const { status, code, retryAfter } = reply
    if (status === 503) this.refusals.push({ at: Date.now(), code, retryAfter })
    return reply
  }
}

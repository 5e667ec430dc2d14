import { type Clock, decodeId, systemClock, type Uuid } from '@duly/domain'
import pg from 'pg'
import { cleanUpLater } from '../../../../../tests/support/clean-up.js'
import { createDatabase } from '../../../../../tests/support/database.js'
import { type ConfigSources, resolveConfig } from '../../node/config.js'
import { startNode } from '../../node/start-node.js'
import type { Sql } from '../../queue/testing/store-bench.js'

/** A database of the calling test file's own, and a connection to look into it. Gone when the file is done. */
export async function openStore(): Promise<{ readonly url: string; readonly sql: Sql }> {
  const { url } = await createDatabase()
  const pool = new pg.Pool({ connectionString: url, max: 4 })
  pool.on('error', () => {})
  cleanUpLater(() => pool.end())
  // else the time since the migration counts as an outage, after which no deadline is judged for one lease
  await pool.query('update store_marks set marked_at = now(), judge_after = now()')
  return { url, sql: async (text, values = []) => (await pool.query(text, values)).rows }
}

export interface HttpNode {
  readonly url: string
  readonly api: Api
  stop(): Promise<void>
  hasten(): boolean
}

/** A whole node in this process, on a free port, silent, open unless said otherwise. Stopped when the test file is done. */
export async function startHttpNode(
  databaseUrl: string,
  flags: ConfigSources['flags'] = {},
  clock: Clock = systemClock,
): Promise<HttpNode> {
  const config = resolveConfig({
    flags: { databaseUrl, port: 0, open: true, logLevel: 'silent', drainDelaySeconds: 0, ...flags },
  })
  const node = await startNode(config, { clock })
  cleanUpLater(() => {
    node.hasten()
    return node.stop()
  })
  return { url: node.url, api: new Api(node.url), stop: () => node.stop(), hasten: node.hasten }
}

export interface Answer<T> {
  readonly status: number
  readonly body: T
}

export interface WireTask {
  readonly task_id: string
  readonly status: string
}

export interface WireRecord extends WireTask {
  readonly attempts: number
  readonly failures: number
  readonly started_at: string | null
  readonly scheduled_at: string | null
  readonly completed_at: string | null
  readonly reason: string | null
  readonly result: unknown
  readonly error: { readonly class: string; readonly message: string } | null
}

export interface WireGrant {
  readonly grant: number
  readonly task_id: string
  readonly lease: string
  readonly attempt: number
  readonly failures: number
  readonly task_type: string
  readonly payload: unknown
  readonly suspect: boolean
  readonly deadline_at: string
}

export interface WireBeat {
  readonly cancel: readonly { readonly lease: string; readonly reason: string }[]
  readonly lost: readonly string[]
  readonly drain: boolean
}

export type WireReport = Readonly<Record<string, unknown>> & { readonly task_id: string; readonly lease: string }

/** The API as a client without an SDK sees it. Tasks are of type `work`, due now, unless said otherwise. */
export class Api {
  readonly url: string
  readonly #headers: Readonly<Record<string, string>>

  constructor(url: string, apiKey?: string) {
    this.url = url
    this.#headers = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }
  }

  async call<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Answer<T>> {
    const response = await fetch(`${this.url}/api/v1${path}`, {
      method,
      headers: { ...this.#headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    })
    const text = await response.text()
    return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as T }
  }

  async submit(task: Record<string, unknown> = {}): Promise<WireTask> {
    const answer = await this.call<WireTask>('POST', '/tasks', { task_type: 'work', ...task })
    if (answer.status !== 202) throw new Error(`not accepted: ${JSON.stringify(answer)}`)
    return answer.body
  }

  async submitBatch(tasks: readonly Record<string, unknown>[]): Promise<readonly WireTask[]> {
    const items = tasks.map((task) => ({ task_type: 'work', ...task }))
    const answer = await this.call<{ tasks: WireTask[] }>('POST', '/tasks/batch', { tasks: items })
    if (answer.status !== 202) throw new Error(`not accepted: ${JSON.stringify(answer)}`)
    return answer.body.tasks
  }

  async get(id: string, waitSeconds = 0): Promise<WireRecord> {
    return (await this.call<WireRecord>('GET', `/tasks/${id}?wait_seconds=${waitSeconds}`)).body
  }

  async worker(options: WorkerOptions = {}): Promise<RawWorker> {
    const { queues = ['default'], taskTypes = ['work'], slots = 100, heartbeatSeconds = patience } = options
    const heartbeat = heartbeatSeconds === null ? {} : { heartbeat_seconds: heartbeatSeconds }
    const registration = { name: 'raw', queues, task_types: taskTypes, slots, ...heartbeat }
    const answer = await this.call<{ worker_id: string }>('POST', '/workers', registration)
    if (answer.status !== 201) throw new Error(`not registered: ${JSON.stringify(answer)}`)
    return new RawWorker(this, answer.body.worker_id)
  }
}

export interface WorkerOptions {
  readonly queues?: readonly string[]
  readonly taskTypes?: readonly string[]
  readonly slots?: number
  /** Null: as the server has it. By default so long that no test outlives the lease, three times that, without a beat. */
  readonly heartbeatSeconds?: number | null
}

const patience = 60

export interface PollOptions {
  readonly wait?: number
  readonly received?: number
  readonly signal?: AbortSignal
}

/** A worker that speaks the protocol by hand. Acknowledges what it received, unless told what to say. */
export class RawWorker {
  readonly id: string
  received = 0
  #api: Api

  constructor(api: Api, id: string) {
    this.#api = api
    this.id = id
  }

  /** Its id in the store. */
  get uuid(): Uuid {
    return decodeId('worker', this.id) ?? ''
  }

  /** Goes on over another node. */
  moveTo(api: Api): void {
    this.#api = api
  }

  async poll(slots: number, options: PollOptions = {}): Promise<readonly WireGrant[]> {
    const answer = await this.tryPoll(slots, options)
    if (answer.status !== 200) throw new Error(`poll refused: ${JSON.stringify(answer)}`)
    return answer.body.tasks
  }

  async tryPoll(slots: number, options: PollOptions = {}): Promise<Answer<{ readonly tasks: WireGrant[] }>> {
    const { wait = 0, received = this.received, signal } = options
    const body = { slots, wait_seconds: wait, received }
    const answer = await this.#api.call<{ tasks: WireGrant[] }>('POST', `/workers/${this.id}/poll`, body, signal)
    if (answer.status === 200) this.#receive(answer.body.tasks)
    return answer
  }

  async exchange(
    reports: readonly WireReport[],
    slots: number,
    options: PollOptions = {},
  ): Promise<{
    readonly results: readonly { accepted: boolean; status?: string; code?: string }[]
    readonly tasks: readonly WireGrant[]
  }> {
    const { wait = 0, received = this.received, signal } = options
    const body = { reports, slots, wait_seconds: wait, received }
    const answer = await this.#api.call<{ results: []; tasks: WireGrant[] }>(
      'POST',
      `/workers/${this.id}/exchange`,
      body,
      signal,
    )
    if (answer.status !== 200) throw new Error(`exchange refused: ${JSON.stringify(answer)}`)
    this.#receive(answer.body.tasks)
    return answer.body
  }

  /** Reports of these grants, successes unless said otherwise. */
  async report(
    grants: readonly { readonly task_id: string; readonly lease: string }[],
    outcome: Record<string, unknown> = { outcome: 'succeeded', result: null },
  ): Promise<readonly { accepted: boolean; status?: string; code?: string }[]> {
    const reports = grants.map(({ task_id, lease }) => ({ task_id, lease, ...outcome }))
    const answer = await this.#api.call<{ results: { accepted: boolean; status?: string; code?: string }[] }>(
      'POST',
      `/workers/${this.id}/report`,
      { reports },
    )
    if (answer.status !== 200) throw new Error(`report refused: ${JSON.stringify(answer)}`)
    return answer.body.results
  }

  async beat(options: { leases?: readonly string[]; wait?: number; received?: number } = {}): Promise<WireBeat> {
    const answer = await this.tryBeat(options)
    if (answer.status !== 200) throw new Error(`beat refused: ${JSON.stringify(answer)}`)
    return answer.body
  }

  tryBeat(options: { leases?: readonly string[]; wait?: number; received?: number } = {}): Promise<Answer<WireBeat>> {
    const { leases = [], wait = 0, received = this.received } = options
    return this.#api.call('POST', `/workers/${this.id}/heartbeat`, { leases, wait_seconds: wait, received })
  }

  async leave(): Promise<number> {
    return (await this.#api.call('DELETE', `/workers/${this.id}`)).status
  }

  #receive(tasks: readonly WireGrant[]): void {
    for (const { grant } of tasks) this.received = Math.max(this.received, grant)
  }
}

/** Asks until the answer is true; the test's own time limit ends a wait for what never comes. */
export async function until(what: string, ask: () => Promise<boolean> | boolean, limitMs = 60_000): Promise<void> {
  const giveUpAtMs = performance.now() + limitMs
  while (!(await ask())) {
    if (performance.now() > giveUpAtMs) throw new Error(`waited ${limitMs} ms in vain: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** Resolves after a while in which what was sent has most likely arrived: only where nothing goes wrong if it has not. */
export const enough = (ms = 300): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** How long a call took, ms, with its answer. */
export async function timed<T>(work: () => Promise<T>): Promise<{ readonly value: T; readonly ms: number }> {
  const beganMs = performance.now()
  const value = await work()
  return { value, ms: performance.now() - beganMs }
}

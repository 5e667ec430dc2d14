import { expect } from 'vitest'
import { type HttpNode, openStore, startHttpNode, type WireGrant } from '../../dispatch/testing/http-node.js'
import type { Sql } from '../../queue/testing/store-bench.js'

export interface WirePage {
  readonly items: readonly { line: number; attempt: number; level: string; message: string }[]
  readonly next_cursor: string | null
  readonly has_more: boolean
  readonly is_complete: boolean
  readonly dropped_lines: number
  readonly progress: { percent: number } | null
}

export interface WireLine {
  readonly level?: string
  readonly message: string
}

/** When every line was written. */
export const at = '2026-04-03T10:00:00.000Z'

/** Two nodes on a store of the calling test file. */
export async function openLogBench(): Promise<LogBench> {
  const { url, sql } = await openStore()
  const start = () => startHttpNode(url, { graceSeconds: 30 })
  return new LogBench({ url, sql, one: await start(), two: await start() })
}

interface Parts {
  readonly url: string
  readonly sql: Sql
  readonly one: HttpNode
  readonly two: HttpNode
}

export class LogBench {
  readonly url: string
  readonly sql: Sql
  readonly one: HttpNode
  readonly two: HttpNode
  #queues = 0

  constructor({ url, sql, one, two }: Parts) {
    this.url = url
    this.sql = sql
    this.one = one
    this.two = two
  }

  /** A task that runs, and the worker that has it. */
  async running() {
    const queue = `logged-${this.#queues++}`
    const worker = await this.one.api.worker({ queues: [queue], slots: 10 })
    const { task_id: id } = await this.one.api.submit({ queue })
    const [grant] = await worker.poll(1, { wait: 30 })
    if (grant === undefined) throw new Error('nothing was granted')
    return { worker, id, grant, queue }
  }

  /** Writes lines of an attempt, as a worker does it that names the task, or as one that does not. */
  async log(
    { worker, grant }: { readonly worker: { readonly id: string }; readonly grant: WireGrant },
    lines: readonly WireLine[],
    { node = this.one, isNamed = true, after }: { node?: HttpNode; isNamed?: boolean; after?: number } = {},
  ): Promise<void> {
    const more = isNamed ? { task_id: grant.task_id } : {}
    const logs = lines.map(({ level = 'info', message }) => ({ lease: grant.lease, ...more, at, level, message }))
    const beat = { leases: [grant.lease], logs, logs_after: after }
    const answer = await node.api.call('POST', `/workers/${worker.id}/heartbeat`, beat)
    expect(answer.status).toBe(200)
  }

  async read(id: string, query = '', node = this.one): Promise<WirePage> {
    const answer = await node.api.call<WirePage>('GET', `/tasks/${id}/logs${query}`)
    expect(answer.status).toBe(200)
    return answer.body
  }
}

export const texts = ({ items }: WirePage): string[] => items.map(({ message }) => message)

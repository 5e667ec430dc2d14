import { checkOptions } from '../known-options.js'
import type { WorkerRecord } from './fleet-records.js'
import type { HttpClient } from './http.js'
import { everyPage } from './pages.js'
import { fromWire } from './wire.js'

/** `duly.workers`: the fleet, and the operator's call on it. To run tasks, see `Worker`. */
export class Workers {
  readonly #http: HttpClient

  constructor(http: HttpClient) {
    this.#http = http
  }

  /** The workers that are there, the youngest first; with `state` those of that state, with `ended` those that are gone. */
  async list(options: { readonly state?: 'live' | 'draining' | 'ended' } = {}): Promise<readonly WorkerRecord[]> {
    checkOptions('workers.list', options, { names: ['state'], elsewhere: { status: 'state' } })
    return everyPage<WorkerRecord>(this.#http, '/workers', options.state === undefined ? {} : { state: options.state })
  }

  /** @throws DulyApiError `not_found` */
  async get(id: string): Promise<WorkerRecord> {
    const answer = await this.#http.call({ method: 'GET', path: workerPath(id), repeatable: true })
    return fromWire(answer.body) as WorkerRecord
  }

  /**
   * Has a worker finish what it holds and leave: it gets nothing more at once, and is told by its heartbeat. Repeating it, or draining
   * one that has ended, changes nothing.
   */
  async drain(id: string): Promise<WorkerRecord> {
    const answer = await this.#http.call({ method: 'POST', path: `${workerPath(id)}/drain`, repeatable: true })
    return fromWire(answer.body) as WorkerRecord
  }
}

function workerPath(id: string): string {
  return `/workers/${encodeURIComponent(id)}`
}

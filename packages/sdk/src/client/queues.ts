import { checkOptions } from '../known-options.js'
import type { PausedQueue, PurgeSummary, QueueRecord } from './fleet-records.js'
import type { HttpClient } from './http.js'
import { everyPage } from './pages.js'
import { fromWire } from './wire.js'

/** `duly.queues`: what waits where, and the operator's calls. */
export class Queues {
  readonly #http: HttpClient

  constructor(http: HttpClient) {
    this.#http = http
  }

  /** All queues by name, with their depths. */
  list(): Promise<readonly QueueRecord[]> {
    return everyPage<QueueRecord>(this.#http, '/queues')
  }

  /** @throws DulyApiError `not_found` */
  async get(name: string): Promise<QueueRecord> {
    const answer = await this.#http.call({ method: 'GET', path: queuePath(name), repeatable: true })
    return fromWire(answer.body) as QueueRecord
  }

  /**
   * Starts nothing more from the queue, on any node. What runs goes on; tasks are still taken, and wait. A queue that does not exist
   * yet comes into being, and `created` says so. Repeating it changes nothing.
   */
  async pause(name: string): Promise<PausedQueue> {
    return fromWire(await this.#post(name, 'pause')) as PausedQueue
  }

  /**
   * Starts its tasks again. Repeating it changes nothing.
   * @throws DulyApiError `not_found`
   */
  async resume(name: string): Promise<QueueRecord> {
    return fromWire(await this.#post(name, 'resume')) as QueueRecord
  }

  /**
   * Cancels what waits in the queue (PENDING), with the reason `purged`; what runs, or waits for its time, stays. Calls as often as it
   * takes; `onProgress` is told after each call.
   */
  async purge(
    name: string,
    options: { readonly onProgress?: (summary: PurgeSummary) => void; readonly signal?: AbortSignal } = {},
  ): Promise<PurgeSummary> {
    checkOptions('queues.purge', options, { names: ['onProgress', 'signal'] })
    let cancelled = 0
    for (;;) {
      const step = (await this.#post(name, 'purge', options.signal)) as PurgeSummary & { readonly complete: boolean }
      cancelled += step.cancelled
      const summary = { cancelled, remaining: step.remaining }
      options.onProgress?.(summary)
      if (step.complete) return summary
    }
  }

  async #post(name: string, call: string, signal?: AbortSignal): Promise<unknown> {
    const path = `${queuePath(name)}/${call}`
    return (await this.#http.call({ method: 'POST', path, repeatable: true, signal })).body
  }
}

function queuePath(name: string): string {
  return `/queues/${encodeURIComponent(name)}`
}

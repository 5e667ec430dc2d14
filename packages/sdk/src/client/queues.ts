import type { HttpClient } from './http.js'
import type { Page, QueueRecord } from './records.js'
import { fromWire } from './wire.js'

/** `duly.queues`: the calls on queues. */
export class Queues {
  readonly #http: HttpClient

  constructor(http: HttpClient) {
    this.#http = http
  }

  /** All queues with their depths. */
  async list(): Promise<readonly QueueRecord[]> {
    const answer = await this.#http.call({ method: 'GET', path: '/queues', repeatable: true })
    return (fromWire(answer.body) as Page<QueueRecord>).items
  }
}

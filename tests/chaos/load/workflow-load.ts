import { setTimeout as delay } from 'node:timers/promises'
import type { Uuid } from '@duly/domain'
import { LoggingClient } from './client.js'
import { type DrawnWorkflow, drawWorkflow } from './graphs.js'
import { type Random, randomOf } from './random.js'
import { WorkflowClient } from './workflow-client.js'

export interface WorkflowLoadOptions {
  /** Where the api is; asked before each call. */
  readonly url: () => string
  /** Calls per second over all clients, about. */
  readonly perSecond: number
  /** Clients that work at the same time, each one call after the other. */
  readonly clients?: number
}

/** How often a client does what. A retry is mostly of a workflow that was seen to have failed, or to be cancelled. */
const ACTIONS = { submit: 40, repeat: 6, get: 26, retry: 20, cancel: 3, cancelNode: 3, getNode: 5 } as const
/** What was submitted this many workflows ago is left alone. */
const REMEMBERED = 60

/** Random graphs, and all that may be done to them, its choices repeatable by the seed. */
export class WorkflowLoad {
  readonly client: WorkflowClient
  /** The calls about single tasks of them. */
  readonly tasks: LoggingClient
  readonly #options: Required<Omit<WorkflowLoadOptions, 'url'>>
  readonly #stopping = new AbortController()
  readonly #drawn: DrawnWorkflow[] = []
  readonly #ids: Uuid[] = []
  readonly #nodes: Uuid[] = []
  /** Those that were seen to have ended without success. */
  readonly #unsuccessful: Uuid[] = []
  #running: Promise<unknown> = Promise.resolve()

  constructor({ url, ...options }: WorkflowLoadOptions) {
    this.#options = { clients: 6, ...options }
    this.client = new WorkflowClient(url)
    this.tasks = new LoggingClient(url)
  }

  start(): this {
    const actors = Array.from({ length: this.#options.clients }, (_, index) =>
      this.#act(randomOf(`workflow client ${index}`)),
    )
    this.#running = Promise.all(actors)
    return this
  }

  /** Lets the calls in flight end. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
  }

  /** How many submissions were answered with success so far. */
  get accepted(): number {
    return this.client.log.filter(({ verb, outcome }) => verb === 'submit' && outcome === 'ok').length
  }

  async #act(random: Random): Promise<void> {
    const pauseMs = (1_000 * this.#options.clients) / this.#options.perSecond
    const { signal } = this.#stopping
    while (!signal.aborted) {
      await this.#step(random)
      await delay(random.between(0, 2 * pauseMs), undefined, { signal }).catch(() => {}) // woken early to stop
    }
  }

  async #step(random: Random): Promise<void> {
    const action = random.weighted(ACTIONS)
    const keyed = this.#drawn.filter(({ asked }) => asked.key !== null).slice(-REMEMBERED)
    if (action === 'repeat' && keyed.length > 0) return this.#submit(random.pick(keyed))
    if (action === 'submit' || action === 'repeat' || this.#ids.length === 0) return this.#submit(this.#draw(random))
    if (action === 'getNode' || action === 'cancelNode') {
      const node = random.pick(this.#nodes.slice(-10 * REMEMBERED))
      await (action === 'getNode' ? this.tasks.get(node) : this.tasks.cancel(node))
      return
    }
    const seen = action === 'retry' && random.next() < 0.8 ? this.#unsuccessful : []
    const { id, observed } = await this.client[action](
      random.pick((seen.length > 0 ? seen : this.#ids).slice(-REMEMBERED)),
    )
    if (observed === 'FAILED' || observed === 'CANCELLED') this.#unsuccessful.push(id)
  }

  async #submit(drawn: DrawnWorkflow): Promise<void> {
    const accepted = await this.client.submit(drawn)
    if (accepted === null) return
    this.#ids.push(accepted.id)
    this.#nodes.push(...accepted.nodes)
  }

  #draw(random: Random): DrawnWorkflow {
    const drawn = drawWorkflow(random, `w${this.#drawn.length + 1}`)
    this.#drawn.push(drawn)
    return drawn
  }
}

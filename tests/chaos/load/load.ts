import type { Uuid } from '@duly/domain'
import { isSubmission, type SubmitCall } from '../checker/client-log.js'
import { Actors } from './actors.js'
import { Backlog } from './backlog.js'
import { LoggingClient, type Submission } from './client.js'
import type { Random } from './random.js'
import { drawSubmission, type Mix } from './submissions.js'

export interface LoadOptions {
  /** Where the api is; asked before each call. */
  readonly url: () => string
  /** How many tasks are open now: the load waits while it is more than `most`. */
  readonly open: () => Promise<number>
  /** 250 by default: many times what a few workers run at once. */
  readonly most?: number
  /** Calls per second over all clients, at most. */
  readonly perSecond: number
  /** Clients that work at the same time, each one call after the other. */
  readonly clients?: number
  readonly mix?: Mix
  /** How many of the tasks are delayed, 0 to 1; a fifth by default. */
  readonly delayed?: number
}

/** How often a client does what, besides looking after what it has submitted. */
const ACTIONS = { submit: 60, batch: 6, repeat: 8, get: 14, cancel: 7, replay: 5 } as const

/**
 * Mixed traffic, its choices repeatable by the seed: tasks of all plans, delayed or not, with and without keys, repeated
 * submissions, looks, cancellations and replays. A keyed submission that was refused or left unknown is sent again later.
 */
export class Load {
  readonly client: LoggingClient
  readonly #options: LoadOptions
  readonly #actors: Actors
  readonly #ids: Uuid[] = []
  readonly #keyed: Submission[] = []
  #marks = 0

  constructor(options: LoadOptions) {
    const { clients = 8, perSecond, open, most = 250 } = options
    this.#options = options
    this.client = new LoggingClient(options.url)
    const backlog = new Backlog({ count: open, limit: most })
    this.#actors = new Actors({ name: 'client', clients, perSecond, backlog, step: (random) => this.#step(random) })
  }

  start(): this {
    this.#actors.start()
    return this
  }

  /** Lets the calls in flight end. */
  stop(): Promise<void> {
    return this.#actors.stop()
  }

  /** How many submissions were answered with success so far. */
  get accepted(): number {
    return this.client.log.filter((call) => isSubmission(call) && call.outcome === 'ok').length
  }

  async #step(random: Random): Promise<void> {
    const action = random.weighted(ACTIONS)
    const id = this.#ids.length > 0 ? random.pick(this.#ids) : undefined
    if (action === 'batch') return this.#submitBatch(random)
    if (action === 'repeat' && this.#keyed.length > 0) return this.#submit(random.pick(this.#keyed))
    if (id === undefined || action === 'submit' || action === 'repeat') return this.#submit(this.#draw(random))
    await this.client[action](id)
  }

  async #submit(submission: Submission): Promise<void> {
    this.#note(await this.client.submit(submission))
  }

  async #submitBatch(random: Random): Promise<void> {
    const submissions = Array.from({ length: random.integer(2, 20) }, () => this.#draw(random))
    this.#note(await this.client.submitBatch(submissions))
  }

  #note(call: SubmitCall): void {
    this.#ids.push(...call.ids)
  }

  #draw(random: Random): Submission {
    this.#marks += 1
    const submission = drawSubmission(random, `m${this.#marks}`, this.#options)
    if (submission.idempotency_key !== undefined) this.#keyed.push(submission)
    return submission
  }
}

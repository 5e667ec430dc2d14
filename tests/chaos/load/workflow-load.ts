import type { Uuid } from '@duly/domain'
import { Actors } from './actors.js'
import { Backlog } from './backlog.js'
import { type DrawnWorkflow, drawWorkflow } from './graphs.js'
import { NODE_ACTIONS, type NodeAction, NodeCalls } from './node-calls.js'
import type { Random } from './random.js'
import { WorkflowClient } from './workflow-client.js'

export interface WorkflowLoadOptions {
  /** Where the api is; asked before each call. */
  readonly url: () => string
  /** How many tasks are open now: the load waits while it is more than `most`. */
  readonly open: () => Promise<number>
  /** 500 by default: some dozens of graphs. */
  readonly most?: number
  /** Calls per second over all clients, at most. */
  readonly perSecond: number
  /** Clients that work at the same time, each one call after the other. */
  readonly clients?: number
}

/** How often a client does what. A retry is mostly of a workflow that was seen to have failed, or to be cancelled. */
const ACTIONS = { submit: 40, repeat: 6, get: 26, retry: 20, cancel: 3, ...NODE_ACTIONS } as const
/** What was submitted this many workflows ago is left alone. */
const REMEMBERED = 60

/** Random graphs, and all that may be done to them, its choices repeatable by the seed. */
export class WorkflowLoad {
  readonly client: WorkflowClient
  /** The calls about single tasks of them. */
  readonly tasks: NodeCalls
  readonly #actors: Actors
  readonly #drawn: DrawnWorkflow[] = []
  readonly #ids: Uuid[] = []
  /** Those that were seen to have ended without success. */
  readonly #unsuccessful: Uuid[] = []

  constructor({ url, open, most = 500, perSecond, clients = 6 }: WorkflowLoadOptions) {
    this.client = new WorkflowClient(url)
    this.tasks = new NodeCalls(url)
    const backlog = new Backlog({ count: open, limit: most })
    const step = (random: Random) => this.#step(random)
    this.#actors = new Actors({ name: 'workflow client', clients, perSecond, backlog, step })
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
    return this.client.log.filter(({ verb, outcome }) => verb === 'submit' && outcome === 'ok').length
  }

  async #step(random: Random): Promise<void> {
    const action = random.weighted(ACTIONS)
    const keyed = this.#drawn.filter(({ asked }) => asked.key !== null).slice(-REMEMBERED)
    if (action === 'repeat' && keyed.length > 0) return this.#submit(random.pick(keyed))
    if (action === 'submit' || action === 'repeat' || this.#ids.length === 0) return this.#submit(this.#draw(random))
    if (isOfNodes(action)) {
      await this.tasks.act(action, random)
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
    this.tasks.accepted(accepted)
  }

  #draw(random: Random): DrawnWorkflow {
    const drawn = drawWorkflow(random, `w${this.#drawn.length + 1}`)
    this.#drawn.push(drawn)
    return drawn
  }
}

const isOfNodes = (action: keyof typeof ACTIONS): action is NodeAction => Object.hasOwn(NODE_ACTIONS, action)

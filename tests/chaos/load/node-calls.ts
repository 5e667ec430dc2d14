import type { Call, Change } from '../checker/client-log.js'
import { bulk } from './bulk-client.js'
import { LoggingClient } from './client.js'
import { type PlanName, plans } from './plans.js'
import type { Random } from './random.js'
import { QUEUE, SIDE_QUEUE } from './submissions.js'
import type { AcceptedNode, AcceptedWorkflow } from './workflow-client.js'

/** What clients do to nodes by themselves, or to many at once, and how often beside each other. */
export const NODE_ACTIONS = {
  ...{ getNode: 5, cancelNode: 3, replayNode: 9, editNode: 10, discardNode: 3 },
  ...{ cancelAll: 1, retryAll: 3, retryLetters: 1 },
} as const
export type NodeAction = keyof typeof NODE_ACTIONS

/** Nodes and workflows that were accepted before these are left alone. */
const NODES = 600
const WORKFLOWS = 60
/** Most of these wait still. */
const NEWEST = 60

/** Calls about single nodes of workflows, and operations on all of one; drawn by the seed. */
export class NodeCalls {
  readonly client: LoggingClient
  readonly #url: () => string
  readonly #nodes: AcceptedNode[] = []
  /** Those that are to fail, and those of them that are to die. */
  readonly #failing: AcceptedNode[] = []
  readonly #dying: AcceptedNode[] = []
  readonly #workflows: AcceptedWorkflow['id'][] = []
  #edits = 0

  constructor(url: () => string) {
    this.#url = url
    this.client = new LoggingClient(url)
  }

  get log(): readonly Call[] {
    return this.client.log
  }

  accepted({ id, nodes }: AcceptedWorkflow): void {
    const endOf = ({ payload: { plan } }: AcceptedNode) => plans[plan satisfies PlanName].end
    this.#workflows.push(id)
    this.#nodes.push(...nodes)
    this.#failing.push(...nodes.filter((node) => endOf(node) !== 'SUCCEEDED'))
    this.#dying.push(...nodes.filter((node) => endOf(node) === 'DEAD'))
  }

  /** Needs a workflow that was accepted. */
  async act(action: NodeAction, random: Random): Promise<unknown> {
    const workflow = random.pick(this.#workflows.slice(-WORKFLOWS))
    switch (action) {
      case 'cancelAll':
        return this.#bulk('cancel', workflow)
      case 'retryAll':
        return this.#bulk('retry', workflow)
      case 'retryLetters':
        return this.#bulk('retry', null)
      case 'replayNode':
        return this.client.replay(this.#pick(random, random.next() < 0.7 ? this.#failing : this.#nodes).id)
      case 'discardNode':
        return this.client.discard(this.#pick(random, this.#dying).id)
      case 'editNode':
        return this.#edit(random, random.pick(this.#nodes.slice(-NEWEST)))
      case 'cancelNode':
        return this.client.cancel(this.#pick(random, this.#nodes).id)
      case 'getNode':
        return this.client.get(this.#pick(random, this.#nodes).id)
    }
  }

  #pick(random: Random, nodes: readonly AcceptedNode[]): AcceptedNode {
    return random.pick((nodes.length > 0 ? nodes : this.#nodes).slice(-NODES))
  }

  async #bulk(action: 'cancel' | 'retry', workflow: AcceptedWorkflow['id'] | null): Promise<void> {
    this.client.log.push(await bulk(this.#url, action, workflow))
  }

  #edit(random: Random, { id, payload }: AcceptedNode): Promise<unknown> {
    this.#edits += 1
    const priority = random.pick(['high', 'medium', 'low'] as const)
    const changes: readonly Change[] = [
      { edit: this.#edits },
      { priority },
      { queue: random.pick([QUEUE, SIDE_QUEUE]) },
      { edit: this.#edits, priority, queue: random.pick([QUEUE, SIDE_QUEUE]) },
    ]
    return this.client.edit(id, random.pick(changes), payload)
  }
}

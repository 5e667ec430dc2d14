import { DulyError, isOpen, type TriggerRule, triggerRules, type Uuid } from '@duly/domain'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Random, randomOf, seed } from '../../../../tests/chaos/load/random.js'
import type { AddedWorkflowNode, WorkflowNodeRecord } from '../model.js'
import { expectSound } from '../testing/facts.js'
import { passDeadline, passDue, watch, words } from '../testing/lives.js'
import { newTask, openTestNode, openTestStore, type TestNode } from '../testing/test-node.js'
import { Graph, type NodeSpec, whole } from '../testing/workflows.js'

const store = await openTestStore()
const { node } = store
let other: TestNode
beforeAll(async () => {
  other = await openTestNode(store.url, { number: 1 })
})
afterAll(() => other.close())

const api = { kind: 'api', name: 'tester' } as const
/** What a deed may be answered where another one came first. */
const refusals = ['wrong_state', 'lease_lost', 'idempotency_conflict', 'store_unavailable']
const said = ['succeed', 'succeed', 'succeed', 'fail', 'retry', 'release', 'snooze', 'stop'] as const

function drawGraph(random: Random): Record<string, NodeSpec> {
  const size = random.integer(2, 14)
  return Object.fromEntries(
    Array.from({ length: size }, (_, place): [string, NodeSpec] => {
      const after = Array.from({ length: place }, (_, n) => `n${n}`).filter(() => random.next() < 0.3)
      const rule = after.length === 0 ? 'all_succeeded' : random.pick(triggerRules)
      const expiresAtMs = random.next() < 0.2 ? Date.now() + 3_600_000 : null
      return [`n${place}`, { after, rule, task: { maxRetries: random.integer(0, 1), expiresAtMs } }]
    }),
  )
}

/** What is done to them, and how often. */
const weights = {
  ...{ claim: 10, say: 20, sayAgain: 4, cancelTask: 2, replay: 4, cancel: 0.5, retry: 3, add: 3 },
  ...{ edit: 2, expire: 1, purge: 1, timeOut: 2, promote: 3 },
} as const

/** One workflow that is treated badly from all sides at once, at two nodes. */
class Walk {
  readonly #random: Random
  readonly #graph: Graph
  /** Deeds that were done, and not refused. */
  readonly done = new Set<string>()
  #added = 0

  constructor(random: Random, graph: Graph) {
    this.#random = random
    this.#graph = graph
  }

  readonly #deeds: Readonly<Record<keyof typeof weights, (tasks: readonly WorkflowNodeRecord[]) => Promise<unknown>>> =
    {
      claim: () => this.#graph.claim(this.#by),
      say: (tasks) => this.#say(tasks, this.#random.pick(said)),
      sayAgain: (tasks) => this.#say(tasks, 'succeed'),
      cancelTask: (tasks) => this.#by.tasks.cancel(this.#one(tasks, isOpenTask), null, api),
      replay: (tasks) => this.#by.tasks.replay(this.#one(tasks, isEndedBadly), null, api),
      cancel: () => this.#by.workflows.cancel(this.#graph.id, null, api),
      retry: () => this.#by.workflows.retry(this.#graph.id, null, api, whole),
      add: (tasks) => this.#add(tasks),
      edit: (tasks) =>
        this.#by.tasks.edit(this.#one(tasks, isOpenTask), null, { edit: { payload: '{"edited":1}' }, actor: api }),
      expire: (tasks) => this.#expire(this.#one(tasks, isOpenTask)),
      purge: (tasks) => this.#by.nodeEnds.purge([this.#one(tasks, isOpenTask)], 'api'),
      timeOut: async (tasks) => {
        await passDeadline(
          node,
          this.#one(tasks, ({ status }) => status === 'RUNNING'),
        )
        await watch(this.#by)
      },
      promote: (tasks) => promote(tasks),
    }

  /** Some deeds at once, told of the workflow as it was before. */
  async step(): Promise<void> {
    const { graph: tasks } = await node.workflows.read(this.#graph.id, null, whole)
    const names = Array.from({ length: this.#random.integer(1, 4) }, () => this.#random.weighted(weights))
    const done = await Promise.allSettled(names.map(async (name) => this.#deeds[name](tasks)))
    for (const [place, result] of done.entries()) {
      if (result.status === 'fulfilled') this.done.add(names[place] as string)
      if (result.status === 'fulfilled' || result.reason instanceof Nothing) continue
      if (result.reason instanceof DulyError && refusals.includes(result.reason.code)) continue
      throw new Error(`${names[place]} went wrong`, { cause: result.reason })
    }
  }

  /** Lets all of it end well. */
  async end(): Promise<void> {
    for (let turn = 0; ; turn++) {
      const { status, graph: tasks } = await node.workflows.read(this.#graph.id, null, whole)
      if (status !== 'RUNNING') return
      if (turn > 500) throw new Error(`it does not end: ${JSON.stringify(await this.#graph.standing())}`)
      await promote(tasks)
      await this.#graph.claim()
      const running = await node.workflows.read(this.#graph.id, null, whole)
      for (const { name } of running.graph.filter((task) => task.status === 'RUNNING')) {
        await this.#graph.say(name, this.#random.pick([words.succeed, words.stop]))
      }
      await Promise.all([node, other].map((each) => each.nodeEnds.drained()))
    }
  }

  get #by(): TestNode {
    return this.#random.next() < 0.5 ? node : other
  }

  #one(tasks: readonly WorkflowNodeRecord[], fits: (task: WorkflowNodeRecord) => boolean): Uuid {
    const some = tasks.filter(fits)
    if (some.length === 0) throw new Nothing()
    return this.#random.pick(some).id
  }

  async #say(tasks: readonly WorkflowNodeRecord[], word: (typeof said)[number]): Promise<void> {
    const running = tasks.filter(({ status, attempts }) => status === 'RUNNING' && attempts > 0)
    if (running.length === 0) throw new Nothing()
    await this.#graph.say(this.#random.pick(running).name, words[word], this.#by)
  }

  /** Some that exist by now, some that are new, behind whatever there is, or beside it. */
  async #add(tasks: readonly WorkflowNodeRecord[]): Promise<void> {
    const adder = this.#one(tasks, ({ status }) => status === 'RUNNING')
    const name = tasks.find(({ id }) => id === adder)?.name ?? ''
    const { tenant: _, ...task } = newTask({ queue: this.#graph.queue, maxRetries: 0 })
    const nodes = Array.from({ length: this.#random.integer(1, 3) }, (): AddedWorkflowNode => {
      const added = this.#random.next() < 0.3 ? Math.max(0, this.#added - 1) : this.#added++
      const dependencies = this.#random.next() < 0.5 ? [] : [this.#random.pick(tasks).name]
      const rule: TriggerRule = this.#random.pick(triggerRules)
      const waitsForAdder = this.#random.next() < 0.5
      const requestHash = Buffer.alloc(32, JSON.stringify([added, dependencies, waitsForAdder, rule]))
      const rest = { namedTenant: null, dependencies, waitsForAdder, requestHash }
      return { name: `added-${added}`, task, triggerRule: rule, ...rest }
    })
    const unique = [...new Map(nodes.map((each) => [each.name, each])).values()]
    const { lease } = this.#graph.life(name)
    await this.#by.workflows.addNodes(this.#graph.id, null, { adder, lease, nodes: unique })
  }

  async #expire(id: Uuid): Promise<void> {
    await node.query(
      `update open_tasks set expires_at = now() - interval '1 s' where id = $1 and expires_at is not null`,
      [id],
    )
    await this.#by.nodeEnds.expire([id])
  }
}

/** There was nothing to do it to. */
class Nothing extends Error {}

const isOpenTask = ({ status }: WorkflowNodeRecord): boolean => isOpen(status)
const isEndedBadly = ({ status }: WorkflowNodeRecord): boolean => !isOpen(status) && status !== 'SUCCEEDED'

/** What waits for its time waits no longer. */
async function promote(tasks: readonly WorkflowNodeRecord[]): Promise<void> {
  const due = tasks.filter(({ status }) => status === 'SCHEDULED' || status === 'RETRYING').map(({ id }) => id)
  for (const id of due) await passDue(node, id)
  await node.stores.timers.promote(due.map((id) => ({ id, handoff: null, epoch: 1 })))
}

const walks = process.env.DULY_LONG === '1' ? 400 : 40
const atOnce = 8

test(`whatever is done to workflows at once at two nodes, every invariant holds, and all of them end (seed ${seed})`, {
  timeout: 900_000,
}, async () => {
  const done = new Set<string>()
  for (let first = 0; first < walks; first += atOnce) {
    const some = await Promise.all(
      Array.from({ length: atOnce }, async (_, place) => {
        const random = randomOf(`walk ${first + place}`)
        const failurePolicy = random.next() < 0.3 ? 'fail_fast' : 'fail_dependents'
        return new Walk(random, await Graph.submit(node, drawGraph(random), { failurePolicy }))
      }),
    )
    for (let step = 0; step < 12; step++) {
      await Promise.all(some.map((walk) => walk.step()))
      await Promise.all([node, other].map((each) => each.nodeEnds.drained()))
      await expectSound(node)
    }
    await Promise.all(some.map((walk) => walk.end()))
    await expectSound(node)
    for (const walk of some) for (const deed of walk.done) done.add(deed)
  }
  expect([...done].sort()).toEqual(Object.keys(weights).sort())
})

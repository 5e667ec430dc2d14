import { judgeNode, type NodeEnd, type TriggerRule, takesIn, triggerRules } from '@duly/domain'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Random, randomOf, seed } from '../../../../tests/chaos/load/random.js'
import { expectSound } from '../testing/facts.js'
import { words } from '../testing/lives.js'
import { openTestNode, openTestStore, type TestNode } from '../testing/test-node.js'
import { Graph, type NodeSpec, whole } from '../testing/workflows.js'

const store = await openTestStore()
const { node } = store
let other: TestNode
beforeAll(async () => {
  other = await openTestNode(store.url, { number: 1 })
})
afterAll(() => other.close())

const api = { kind: 'api', name: 'tester' } as const
const waiting = ['BLOCKED', 'PENDING']

interface ModelNode {
  readonly rule: TriggerRule
  readonly parents: readonly string[]
  status: string
  /** How it ended, for its children; null: it has not. */
  end: NodeEnd | null
  isTriggered: boolean
  isMarked: boolean
}

/** What a workflow is, by the obvious way: after each end all children are judged by looking at all of their parents. */
class Model {
  readonly nodes: ReadonlyMap<string, ModelNode>
  readonly #isFailFast: boolean
  isCancelled = false

  constructor(specs: Readonly<Record<string, NodeSpec>>, isFailFast: boolean) {
    this.#isFailFast = isFailFast
    this.nodes = new Map(
      Object.entries(specs).map(([name, { after = [], rule = 'all_succeeded' }]) => {
        const isRoot = after.length === 0
        const node = { rule, parents: after, end: null, isTriggered: isRoot, isMarked: false }
        return [name, { ...node, status: isRoot ? 'PENDING' : 'BLOCKED' }]
      }),
    )
  }

  in(...statuses: readonly string[]): string[] {
    return [...this.nodes].flatMap(([name, { status }]) => (statuses.includes(status) ? [name] : [])).sort()
  }

  one(name: string): ModelNode {
    const found = this.nodes.get(name)
    if (!found) throw new Error(`no node ${name}`)
    return found
  }

  /** These ended, all in one transaction. */
  end(names: readonly string[], status: string, end: NodeEnd): void {
    for (const name of names) Object.assign(this.one(name), { status, end })
    if (end === 'failed' && this.#isFailFast) this.#endAll('workflow_failed')
    for (let ended = names; ended.length > 0; ) ended = this.#judge(ended)
  }

  cancel(): void {
    this.isCancelled = true
    this.#endAll('workflow_cancelled')
  }

  verdict(): string {
    const failed = [...this.nodes].filter(([, { end }]) => end === 'failed')
    const untaken = failed.filter(
      ([name]) => !this.#childrenOf([name]).some(([, c]) => c.isTriggered && takesIn(c.rule)),
    )
    if (this.isCancelled) return 'CANCELLED'
    const failures = this.#isFailFast ? failed : untaken
    if (failures.length > 0) return 'FAILED'
    return this.in('SUCCEEDED').length > 0 ? 'SUCCEEDED' : 'CANCELLED'
  }

  /** A running node was cancelled by what marked it. */
  stop(name: string): void {
    this.end([name], 'CANCELLED', 'cancelled')
  }

  #endAll(reason: string): void {
    for (const name of this.in(...waiting)) {
      Object.assign(this.one(name), { status: `CANCELLED ${reason}`, end: 'cancelled' })
    }
    for (const name of this.in('RUNNING')) this.one(name).isMarked = true
  }

  #childrenOf(names: readonly string[]): [string, ModelNode][] {
    return [...this.nodes].filter(([, { parents }]) => parents.some((parent) => names.includes(parent)))
  }

  /** Judges the children of these; those that ended by it. */
  #judge(ended: readonly string[]): string[] {
    const next: string[] = []
    const children = this.#childrenOf(ended).filter(([, { status }]) => status === 'BLOCKED')
    for (const [name, child] of children) {
      const ends = child.parents.map((parent) => this.one(parent).end)
      const count = (...kinds: readonly NodeEnd[]) => ends.filter((end) => end !== null && kinds.includes(end)).length
      const verdict = judgeNode(child.rule, {
        ...{ parents: ends.length, succeeded: count('succeeded'), skipped: count('skipped') },
        failed: count('failed', 'cancelled'),
      })
      if (verdict === 'run') Object.assign(child, { status: 'PENDING', isTriggered: true })
      if (verdict === 'skip') child.status = 'CANCELLED skipped'
      if (verdict === 'fail') child.status = 'FAILED dependency'
      if (verdict === 'skip' || verdict === 'fail') next.push(name)
    }
    // told to their own children in the next round, not in this one
    for (const name of next) {
      const child = this.one(name)
      child.end = child.status === 'CANCELLED skipped' ? 'skipped' : 'failed'
    }
    if (this.#isFailFast && next.some((name) => this.one(name).end === 'failed')) this.#endAll('workflow_failed')
    return next
  }
}

function drawGraph(random: Random, size: number): Record<string, NodeSpec> {
  const names = Array.from({ length: size }, (_, place) => `n${place}`)
  return Object.fromEntries(
    names.map((name, place) => {
      const fan = place === 0 || random.next() < 0.1 ? 0 : random.integer(1, Math.min(place, 4))
      const after = new Set(
        Array.from({ length: fan }, () => names[random.integer(Math.max(0, place - 12), place - 1)]),
      )
      const rule = after.size === 0 || random.next() < 0.4 ? 'all_succeeded' : random.pick(triggerRules)
      return [name, { after: [...after] as string[], rule }]
    }),
  )
}

/** One workflow, led through the store and the model by the same drawn steps. */
class Walk {
  readonly #random: Random
  readonly #graph: Graph
  readonly #model: Model
  readonly log: string[] = []

  constructor(random: Random, graph: Graph, model: Model) {
    this.#random = random
    this.#graph = graph
    this.#model = model
  }

  async run(): Promise<void> {
    while (this.#model.in('BLOCKED', 'PENDING', 'RUNNING').length > 0) {
      await this.#step()
      await this.#compare()
    }
    expect(await this.#graph.status(), this.log.join('\n')).toBe(this.#model.verdict())
  }

  get #by(): TestNode {
    return this.#random.next() < 0.5 ? node : other
  }

  #step(): Promise<void> {
    const running = this.#model.in('RUNNING')
    const claims = this.#model.in('PENDING').length > 0 && (running.length === 0 || this.#random.next() < 0.3)
    if (claims) return this.#claim()
    const step = this.#random.weighted({ end: 20, many: 5, again: 3, release: 4, cancelNode: 1, cancel: 0.15 })
    if (step === 'cancel' && !this.#model.isCancelled) return this.#cancel()
    if (step === 'cancelNode') return this.#cancelNode()
    if (running.length === 0) return this.#claim()
    if (step === 'many') return this.#many(running)
    const name = this.#random.pick(running)
    if (step === 'release') return this.#release(name)
    return this.#end(name, step === 'again')
  }

  async #claim(): Promise<void> {
    const ready = this.#model.in('PENDING')
    this.log.push(`claim ${ready.join(' ')}`)
    expect(await this.#graph.claim(this.#by), this.log.join('\n')).toEqual(ready)
    for (const name of ready) this.#model.one(name).status = 'RUNNING'
  }

  async #end(name: string, isRepeated: boolean): Promise<void> {
    const isGood = this.#random.next() < 0.7
    this.log.push(`${name} ${isGood ? 'succeeds' : 'fails'}${isRepeated ? ', told twice' : ''}`)
    const said = isGood ? words.succeed : words.fail
    const accepted = { accepted: true, status: isGood ? 'SUCCEEDED' : 'FAILED' }
    expect(await this.#graph.say(name, said, this.#by), this.log.join('\n')).toMatchObject(accepted)
    this.#model.end([name], isGood ? 'SUCCEEDED' : 'FAILED', isGood ? 'succeeded' : 'failed')
    if (isRepeated) expect(await this.#graph.say(name, said, this.#by)).toMatchObject(accepted)
  }

  async #many(running: readonly string[]): Promise<void> {
    const some = running.filter(() => this.#random.next() < 0.6)
    this.log.push(`at once succeed ${some.join(' ')}`)
    if (some.length === 0) return
    await this.#graph.sayAll(some)
    this.#model.end(some, 'SUCCEEDED', 'succeeded')
  }

  async #release(name: string): Promise<void> {
    this.log.push(`${name} is given back`)
    const { isMarked } = this.#model.one(name)
    const status = isMarked ? 'CANCELLED' : 'PENDING'
    expect(await this.#graph.say(name, words.release, this.#by), this.log.join('\n')).toMatchObject({ status })
    if (isMarked) this.#model.stop(name)
    else this.#model.one(name).status = 'PENDING'
  }

  async #cancelNode(): Promise<void> {
    const waits = this.#model.in(...waiting)
    if (waits.length === 0) return
    const name = this.#random.pick(waits)
    this.log.push(`cancel ${name}`)
    await this.#by.tasks.cancel(this.#graph.idOf(name), null, api)
    this.#model.end([name], 'CANCELLED cancelled', 'cancelled')
  }

  async #cancel(): Promise<void> {
    this.log.push('cancel the workflow')
    await this.#by.workflows.cancel(this.#graph.id, null, api)
    this.#model.cancel()
  }

  async #compare(): Promise<void> {
    await Promise.all([node.nodeEnds.drained(), other.nodeEnds.drained()])
    const standing = await this.#graph.standing()
    const plain = ([name, status]: [string, string]) =>
      // why a running one was marked is told with it, and it keeps the reason that it was marked for
      [name, /^(RUNNING|CANCELLED) (workflow_|cancel_requested)/.test(status) ? status.split(' ')[0] : status]
    const expected = [...this.#model.nodes].map(([name, { status }]) => plain([name, status]))
    expect(Object.entries(standing).map(plain), this.log.join('\n')).toEqual(expected)
  }
}

/**
 * After a retry all goes well: what had succeeded stays, and whatever else could run by how its parents ended has run. Unless a node that
 * no parent's success can reach failed, and had all others cancelled.
 */
async function retried(graph: Graph, specs: Readonly<Record<string, NodeSpec>>): Promise<void> {
  const before = await graph.standing()
  const refusal = await node.workflows.retry(graph.id, null, api, whole).then(
    () => null,
    (error: Error) => error.message,
  )
  // nothing of it can be opened again: what ran when it was cancelled succeeded, or what failed is a node whose parents were all skipped
  const isWhole = Object.values(before).every(
    (standing) => standing === 'SUCCEEDED' || standing === 'CANCELLED skipped',
  )
  if (isWhole) return expect(refusal).toContain('No task of the workflow failed or was cancelled')
  if (refusal !== null) return expect(refusal).toContain("can't be met by how the tasks ended")
  const ran = (await graph.run()).flat()
  expect(ran.filter((name) => before[name] === 'SUCCEEDED')).toEqual([])
  const after = await graph.standing()
  expect(['SUCCEEDED', 'FAILED']).toContain(await graph.status())
  if (Object.values(after).includes('CANCELLED workflow_failed') && Object.values(after).includes('FAILED dependency'))
    return
  for (const [name, { after: parents = [], rule = 'all_succeeded' }] of Object.entries(specs)) {
    if (after[name] === 'SUCCEEDED') continue
    const counts = { parents: parents.length, succeeded: 0, skipped: 0, failed: 0 }
    for (const parent of parents) counts[kindOf(after[parent])] += 1
    expect(parents.length === 0 ? 'run' : judgeNode(rule, counts), `${name} is ${after[name]}`).not.toBe('run')
  }
}

function kindOf(standing: string | undefined): 'succeeded' | 'skipped' | 'failed' {
  if (standing === 'SUCCEEDED') return 'succeeded'
  return standing === 'CANCELLED skipped' ? 'skipped' : 'failed'
}

const isLong = process.env.DULY_LONG === '1'
const sizes = [...Array.from({ length: isLong ? 400 : 40 }, (_, n) => 2 + (n % 30)), 120, 300]

test(`random graphs stand as the model says, at two nodes, step by step (seed ${seed})`, {
  timeout: 600_000,
}, async () => {
  for (const [n, size] of sizes.entries()) {
    const random = randomOf(`graph ${n}`)
    const specs = drawGraph(random, size)
    const isFailFast = random.next() < 0.3
    const failurePolicy = isFailFast ? 'fail_fast' : 'fail_dependents'
    const graph = await Graph.submit(node, specs, { failurePolicy })
    await new Walk(random, graph, new Model(specs, isFailFast)).run()
    if ((await graph.status()) !== 'SUCCEEDED') await retried(graph, specs)
  }
  await expectSound(node)
})

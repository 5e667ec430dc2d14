import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Random, randomOf } from '../../../../tests/chaos/load/random.js'
import { expectSound } from '../testing/facts.js'
import { passDeadline, say, silence, watch, words } from '../testing/lives.js'
import { openTestNode, openTestStore, type TestNode } from '../testing/test-node.js'
import { Graph, type NodeSpec, whole } from '../testing/workflows.js'

const store = await openTestStore()
const { node } = store
let other: TestNode
let random: Random
beforeAll(async () => {
  other = await openTestNode(store.url, { number: 1 })
})
beforeEach(({ task }) => {
  random = randomOf(task.name)
})
afterAll(() => other.close())

const api = { kind: 'api' } as const
const rounds = 100
const atOnce = 10

/** Runs the round that often, some at once, lets what was left be passed on, then asks for the invariants. */
async function race(round: (n: number) => Promise<unknown>): Promise<void> {
  for (let first = 0; first < rounds; first += atOnce) {
    await Promise.all(Array.from({ length: atOnce }, (_, n) => round(first + n)))
  }
  await Promise.all([node, other].map((each) => each.nodeEnds.drained()))
  await expectSound(node)
}

/** Does all of it at once, each a drawn number of turns later. */
async function meet(...deeds: readonly (() => Promise<unknown>)[]): Promise<PromiseSettledResult<unknown>[]> {
  const lags = deeds.map(() => random.integer(0, 3))
  return Promise.allSettled(
    deeds.map(async (deed, place) => {
      for (let turn = 0; turn < (lags[place] ?? 0); turn++) await new Promise((resolve) => setImmediate(resolve))
      return deed()
    }),
  )
}

test('two last parents end in the same instant at two nodes: the join is ready once', () =>
  race(async () => {
    const graph = await Graph.submit(node, { a: {}, b: {}, join: { after: ['a', 'b'] } })
    await graph.claim()
    const results = await meet(
      () => graph.say('a', words.succeed, node),
      () => graph.say('b', words.succeed, other),
    )
    expect(results).toMatchObject([{ value: { accepted: true } }, { value: { accepted: true } }])
    expect(await graph.claim()).toEqual(['join'])
    expect(await graph.claim()).toEqual([])
    await graph.say('join')
    expect(await graph.status()).toBe('SUCCEEDED')
  }))

test('the same end told at two nodes at once counts once', () =>
  race(async () => {
    const graph = await Graph.submit(node, { a: {}, b: {}, join: { after: ['a', 'b'] } })
    await graph.claim()
    await meet(
      () => graph.say('a', words.succeed, node),
      () => graph.say('a', words.succeed, other),
      () => graph.say('a', words.succeed, node),
    )
    expect(await graph.claim()).toEqual([])
    await graph.say('b')
    expect(await graph.claim()).toEqual(['join'])
  }))

test('cancelling the workflow meets completions: it ends once, by whoever came first', () =>
  race(async () => {
    const graph = await Graph.submit(node, { a: {}, b: {}, c: { after: ['a'] }, d: { after: ['b', 'c'] } })
    await graph.claim()
    const [cancelled] = await meet(
      () => node.workflows.cancel(graph.id, null, api),
      () => graph.say('a', words.succeed, other),
      () => graph.say('b', words.fail, node),
      () => graph.claim(other),
    )
    expect(cancelled?.status).toBe('fulfilled')
    for (const name of ['a', 'b', 'c'] as const) {
      const { status } = await node.tasks.get(graph.idOf(name), null)
      if (status === 'RUNNING') await graph.say(name, words.stop)
    }
    expect(await graph.status()).toBe('CANCELLED')
  }))

test('edits, claims and releases of nodes meet the ends of their parents: no verdict is lost', () =>
  race(async () => {
    const graph = await Graph.submit(node, { a: {}, b: {}, join: { after: ['a', 'b'] }, last: { after: ['join'] } })
    await graph.claim()
    const edit = { payload: '{"edited":true}' }
    await meet(
      () => graph.say('a', words.succeed, node),
      () => graph.say('b', words.succeed, other),
      () => node.tasks.edit(graph.idOf('join'), null, { edit, actor: api }),
      () => other.tasks.edit(graph.idOf('last'), null, { edit, actor: api }),
    )
    expect(await graph.claim()).toEqual(['join'])
    await meet(
      () => graph.say('join', words.succeed, other),
      () => node.tasks.edit(graph.idOf('last'), null, { edit, actor: api }),
    )
    expect(await graph.claim()).toEqual(['last'])
  }))

test('a workflow is read from one instant, whatever ends meanwhile: it is open exactly while a task of it is', () =>
  race(async () => {
    const names = Array.from({ length: 8 }, (_, n) => `n${n}`)
    const graph = await Graph.submit(node, Object.fromEntries(names.map((name) => [name, {}])))
    await graph.claim()
    const ends = names.map((name) => graph.say(name, words.succeed, other))
    for (let isOpen = true; isOpen; ) {
      const { status, open, graph: tasks } = await node.workflows.read(graph.id, null, whole)
      expect(tasks.filter((task) => task.status === 'RUNNING')).toHaveLength(open)
      isOpen = status === 'RUNNING'
      expect(open > 0).toBe(isOpen)
    }
    await Promise.all(ends)
  }))

test('an attempt that is lost, late and reported meets a cancellation of its node: children hear of one end', () =>
  race(async () => {
    const graph = await Graph.submit(node, { a: {}, b: { after: ['a'], rule: 'all_done' } })
    await graph.claim()
    if (random.next() < 0.5) await silence(node, graph.worker)
    await passDeadline(node, graph.idOf('a'))
    await meet(
      () => node.tasks.cancel(graph.idOf('a'), null, api),
      () => watch(other),
      () => say(node, graph.life('a'), random.next() < 0.5 ? words.fail : words.retry),
    )
    const { status } = await node.tasks.get(graph.idOf('a'), null)
    const { status: child } = await node.tasks.get(graph.idOf('b'), null)
    expect(child).toBe(['FAILED', 'CANCELLED', 'DEAD'].includes(status) ? 'PENDING' : 'BLOCKED')
  }))

/** Random graphs of up to 12 nodes, run to their end by random words, at two nodes at once. */
test('random graphs end, whatever happens to their nodes', () =>
  race(async () => {
    const count = random.integer(1, 12)
    const rules = ['all_succeeded', 'none_failed', 'all_done', 'one_succeeded', 'one_failed'] as const
    const nodes: Record<string, NodeSpec> = {}
    for (let n = 0; n < count; n++) {
      const after = Array.from({ length: n }, (_, m) => `n${m}`).filter(() => random.next() < 0.35)
      const rule = after.length === 0 ? 'all_succeeded' : random.pick(rules)
      nodes[`n${n}`] = { after, rule }
    }
    const failurePolicy = random.next() < 0.25 ? 'fail_fast' : 'fail_dependents'
    const graph = await Graph.submit(random.next() < 0.5 ? node : other, nodes, { failurePolicy })
    for (let names = await graph.claim(); names.length > 0; names = await graph.claim()) {
      const words_ = names.map(() => random.pick([words.succeed, words.succeed, words.fail] as const))
      await Promise.all(names.map((name, place) => graph.say(name, words_[place], place % 2 ? node : other)))
    }
    // those that were marked while they ran have ended by their own word
    expect(await graph.status()).not.toBe('RUNNING')
  }))

import { type TriggerRule, triggerRules } from '@duly/domain'
import { describe, expect, test } from 'vitest'
import { expectSound } from '../testing/facts.js'
import { words } from '../testing/lives.js'
import { openTestStore } from '../testing/test-node.js'
import { Graph, type NodeSpec } from '../testing/workflows.js'

const { node } = await openTestStore()
const api = { kind: 'api', name: 'tester' } as const

/** A way in which a parent ends: what it needs in the graph, and what brings the end about once all that is ready was claimed. */
interface Way {
  readonly standing: string
  readonly nodes: (name: string) => Readonly<Record<string, NodeSpec>>
  readonly end: (graph: Graph, name: string) => Promise<unknown>
}

/** Nobody claims from it: what waits there waits on. */
const elsewhere = { queue: 'elsewhere' } as const

const ways: Readonly<Record<string, Way>> = {
  succeeds: {
    standing: 'SUCCEEDED',
    nodes: (name) => ({ [name]: {} }),
    end: (graph, name) => graph.say(name),
  },
  fails: {
    standing: 'FAILED',
    nodes: (name) => ({ [name]: {} }),
    end: (graph, name) => graph.say(name, words.fail),
  },
  dies: {
    standing: 'DEAD',
    nodes: (name) => ({ [name]: { task: { maxRetries: 0 } } }),
    end: (graph, name) => graph.say(name, words.retry),
  },
  'is cancelled while it waits': {
    standing: 'CANCELLED cancelled',
    nodes: (name) => ({ [name]: { task: elsewhere } }),
    end: (graph, name) => node.tasks.cancel(graph.idOf(name), null, api),
  },
  'is cancelled while it runs': {
    standing: 'CANCELLED cancel_requested',
    nodes: (name) => ({ [name]: {} }),
    end: async (graph, name) => {
      await node.tasks.cancel(graph.idOf(name), null, api)
      await graph.say(name, words.stop)
    },
  },
  expires: {
    standing: 'CANCELLED expired',
    nodes: (name) => ({ [name]: { task: { ...elsewhere, expiresAtMs: Date.now() + 3_600_000 } } }),
    end: async (graph, name) => {
      await node.query(`update open_tasks set expires_at = now() - interval '1 s' where id = $1`, [graph.idOf(name)])
      await node.nodeEnds.expire([graph.idOf(name)])
    },
  },
  'is skipped': {
    standing: 'CANCELLED skipped',
    nodes: (name) => ({ [`above-${name}`]: {}, [name]: { after: [`above-${name}`], rule: 'one_failed' } }),
    end: (graph, name) => graph.say(`above-${name}`),
  },
}

const wayNames = Object.keys(ways)
const wayOf = (name: string): Way => ways[name] as Way

/** One child of each rule behind these parents, by the rule's name. */
const childrenOf = (after: readonly string[]): Record<TriggerRule, NodeSpec> =>
  Object.fromEntries(triggerRules.map((rule) => [rule, { after, rule }])) as Record<TriggerRule, NodeSpec>

const runs = 'PENDING'
const waits = 'BLOCKED'
const fails = 'FAILED dependency'
const skipped = 'CANCELLED skipped'
const swept = 'CANCELLED workflow_failed'

/** The table of the specification, in words of its own: how a child of two stands when these of its parents have ended, in that order. */
const table: Readonly<Record<TriggerRule, (ended: readonly string[]) => string>> = {
  all_succeeded: (ended) => {
    const first = ended.find((way) => way !== 'succeeds')
    if (first !== undefined) return first === 'is skipped' ? skipped : fails
    return ended.length === 2 ? runs : waits
  },
  none_failed: (ended) => {
    if (ended.some((way) => way !== 'succeeds' && way !== 'is skipped')) return fails
    return ended.length === 2 ? runs : waits
  },
  all_done: (ended) => (ended.length === 2 ? runs : waits),
  one_succeeded: (ended) => {
    if (ended.includes('succeeds')) return runs
    return ended.length === 2 ? fails : waits
  },
  one_failed: (ended) => {
    if (ended.some((way) => way !== 'succeeds' && way !== 'is skipped')) return runs
    return ended.length === 2 ? skipped : waits
  },
}

const expectedOf = (ended: readonly string[]) =>
  Object.fromEntries(triggerRules.map((rule) => [rule, table[rule](ended)]))

describe.each(wayNames)('children of a parent that %s', (first) => {
  test.each(wayNames)('and then of one that %s go on by the table, whatever their rule', async (second) => {
    const graph = await Graph.submit(node, {
      ...wayOf(first).nodes('p'),
      ...wayOf(second).nodes('q'),
      ...childrenOf(['p', 'q']),
    })
    await graph.claim()
    await wayOf(first).end(graph, 'p')
    expect(await graph.standing()).toMatchObject({ p: wayOf(first).standing, ...expectedOf([first]) })
    await wayOf(second).end(graph, 'q')
    const standing = await graph.standing()
    expect(standing).toMatchObject({ q: wayOf(second).standing, ...expectedOf([first, second]) })
    await graph.run()
    // whatever failed of the parents is taken in by the child that waits for any end; nothing takes in that a child failed
    expect(await graph.status()).toBe(Object.values(standing).includes(fails) ? 'FAILED' : 'SUCCEEDED')
    await expectSound(node)
  })
})

/** Under `fail_fast`, by the end of the only parent: a failure, also that of a child, cancels what is open. */
const failFast: Readonly<Record<string, Readonly<Record<TriggerRule, string>> & { readonly workflow: string }>> = {
  succeeds: of([runs, runs, runs, runs, skipped], 'SUCCEEDED'),
  fails: of([swept, swept, swept, swept, swept], 'FAILED'),
  dies: of([swept, swept, swept, swept, swept], 'FAILED'),
  'is cancelled while it waits': of([fails, fails, swept, fails, swept], 'FAILED'),
  'is cancelled while it runs': of([fails, fails, swept, fails, swept], 'FAILED'),
  expires: of([fails, fails, swept, fails, swept], 'FAILED'),
  'is skipped': of([skipped, swept, swept, fails, skipped], 'FAILED'),
}

function of(standing: readonly [string, string, string, string, string], workflow: string) {
  const [all_succeeded, none_failed, all_done, one_succeeded, one_failed] = standing
  return { all_succeeded, none_failed, all_done, one_succeeded, one_failed, workflow }
}

test.each(wayNames)('of a parent that %s, where the first failure cancels what is open', async (way) => {
  const nodes = { ...wayOf(way).nodes('p'), ...childrenOf(['p']) }
  const graph = await Graph.submit(node, nodes, { failurePolicy: 'fail_fast' })
  await graph.claim()
  await wayOf(way).end(graph, 'p')
  const { workflow, ...standing } = failFast[way] as (typeof failFast)[string]
  expect(await graph.standing()).toMatchObject({ p: wayOf(way).standing, ...standing })
  await graph.run()
  expect(await graph.status()).toBe(workflow)
  await expectSound(node)
})

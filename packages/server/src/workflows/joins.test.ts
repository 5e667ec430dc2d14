import { describe, expect, test } from 'vitest'
import { expectSound } from '../testing/facts.js'
import { words } from '../testing/lives.js'
import { openTestStore, type TestNode } from '../testing/test-node.js'
import { Graph, type NodeSpec, whole } from '../testing/workflows.js'

const { node } = await openTestStore()
const api = { kind: 'api', name: 'tester' } as const

/** How one of 15 parents ends without success, and what its standing says. */
const ways: Readonly<Record<string, readonly [end: (graph: Graph) => Promise<unknown>, standing: string]>> = {
  'fails for good': [(graph) => graph.say('p7', words.fail), 'FAILED'],
  'is cancelled while it runs': [
    async (graph) => {
      await node.tasks.cancel(graph.idOf('p7'), null, api)
      await graph.say('p7', words.stop)
    },
    'CANCELLED cancel_requested',
  ],
  'expires before it starts': [(graph) => expire(node, graph, 'p7'), 'CANCELLED expired'],
  'is purged with its queue': [(graph) => node.nodeEnds.purge([graph.idOf('p7')], 'api'), 'CANCELLED purged'],
}

async function expire(node: TestNode, graph: Graph, name: string): Promise<void> {
  await node.query(`update open_tasks set expires_at = now() - interval '10 s' where id = $1`, [graph.idOf(name)])
  const { nodes } = await node.stores.timers.expire([{ id: graph.idOf(name), epoch: 1 }])
  await node.nodeEnds.expire(nodes)
}

describe.each(Object.entries(ways))('a join of 15 of which one %s', (_, [end, standing]) => {
  test('goes on by its rule, as soon as that is certain', async () => {
    const names = Array.from({ length: 15 }, (_, n) => `p${n}`)
    const waits = standing.endsWith('expired') || standing.endsWith('purged')
    const graph = await Graph.submit(node, {
      ...Object.fromEntries(names.map((name) => [name, name === 'p7' && waits ? { task: { priority: 3 } } : {}])),
      ...{
        all: { after: names },
        done: { after: names, rule: 'all_done' },
        any: { after: names, rule: 'one_succeeded' },
      },
      clean: { after: names, rule: 'one_failed' },
    })
    await graph.claim()
    await end(graph)
    expect(await graph.standing()).toMatchObject({
      ...{ p7: standing, all: 'FAILED dependency', done: 'BLOCKED', any: 'BLOCKED', clean: 'PENDING' },
    })
    await graph.say('p0')
    expect(await graph.standing()).toMatchObject({ any: 'PENDING', done: 'BLOCKED' })
    await graph.sayAll(names.filter((name) => name !== 'p7' && name !== 'p0'))
    expect(await graph.standing()).toMatchObject({ done: 'PENDING' })
    expect(await graph.run()).toEqual([['any', 'clean', 'done']])
    // nobody took in that `all` failed
    expect(await graph.status()).toBe('FAILED')
    await expectSound(node)
  })
})

/** A chain of three within a join of three within a chain. */
const nested: Readonly<Record<string, NodeSpec>> = {
  first: {},
  ...Object.fromEntries(
    ['x', 'y', 'z'].flatMap((branch) =>
      [1, 2, 3].map((n) => [`${branch}${n}`, { after: [n === 1 ? 'first' : `${branch}${n - 1}`] }]),
    ),
  ),
  ...{ join: { after: ['x3', 'y3', 'z3'] }, last: { after: ['join'] } },
}

test.each(['x1', 'x2', 'x3', 'y1', 'y2', 'y3', 'z1', 'z2', 'z3'])(
  'a failure of %s within a chain within a join ends the workflow, and nothing is left',
  async (bad) => {
    const graph = await Graph.submit(node, nested)
    await graph.run((name) => (name === bad ? words.fail : words.succeed))
    expect(await graph.standing()).toMatchObject({ join: 'FAILED dependency', last: 'FAILED dependency' })
    expect(await node.workflows.read(graph.id, null, whole)).toMatchObject({ status: 'FAILED', open: 0 })
    expect(await node.query('select from open_tasks where workflow_id = $1', [graph.id])).toEqual([])
    await expectSound(node)
  },
)

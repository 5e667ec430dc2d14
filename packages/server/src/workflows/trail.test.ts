import { encodeId, type Uuid } from '@duly/domain'
import { afterAll, describe, expect, test } from 'vitest'
import { expectChained, expectSound, wholeTrailOf } from '../testing/facts.js'
import { words } from '../testing/lives.js'
import { newTask, openTestStore } from '../testing/test-node.js'
import { Graph, type NodeSpec } from '../testing/workflows.js'

const { node } = await openTestStore()
afterAll(() => expectSound(node))

const submittedBy = '01890000-0000-7000-8000-0000000000aa'
const key = encodeId('key', submittedBy)
const submitterOf = async (id: Uuid) => (await node.tasks.events(id, null))[0]?.actor

async function trails(specs: Readonly<Record<string, NodeSpec>>, failing: readonly string[] = []) {
  const graph = await Graph.submit(node, specs)
  await graph.run((name) => (failing.includes(name) ? words.fail : words.succeed))
  const told: Record<string, string[]> = {}
  for (const name of Object.keys(specs)) {
    await expectChained(node, graph.idOf(name))
    told[name] = await wholeTrailOf(node, graph.idOf(name))
  }
  return told
}

describe('the trail of a node', () => {
  const ran = ['claim PENDING>RUNNING @1 dispatcher', 'succeed RUNNING>SUCCEEDED @1 worker']
  const blocked = 'submit >BLOCKED @- workflow'

  test('tells when it was unblocked', async () => {
    expect(await trails({ a: {}, b: { after: ['a'] } })).toEqual({
      a: ['submit >PENDING @- workflow', ...ran],
      b: [blocked, 'unblock BLOCKED>PENDING @- dependency', ...ran],
    })
  })

  test('tells when the ends of others decided it', async () => {
    const specs = { a: {}, b: {}, skipped: { after: ['a'], rule: 'one_failed' }, failed: { after: ['b'] } } as const
    expect(await trails(specs, ['b'])).toMatchObject({
      skipped: [blocked, 'skip BLOCKED>CANCELLED @- dependency'],
      failed: [blocked, 'upstream_fail BLOCKED>FAILED @- dependency'],
    })
  })

  test('names the API key of the call that submitted its workflow, or that added it', async () => {
    const task = { submittedBy }
    const graph = await Graph.submit(node, { a: { task }, b: { after: ['a'], task }, unknown: {} })
    for (const name of ['a', 'b']) expect(await submitterOf(graph.idOf(name))).toBe(`workflow:${key}`)
    expect(await submitterOf(graph.idOf('unknown'))).toBe('workflow')
    await graph.claim()
    const { tenant: _, ...added } = newTask({ queue: graph.queue, submittedBy })
    const rest = { namedTenant: null, dependencies: [], waitsForAdder: true, requestHash: Buffer.alloc(32) }
    const addition = { adder: graph.idOf('a'), lease: graph.life('a').lease }
    const { nodes } = await node.workflows.addNodes(graph.id, null, {
      ...addition,
      nodes: [{ ...rest, name: 'more', task: added, triggerRule: 'all_succeeded' }],
    })
    expect(await submitterOf(nodes[0]?.id as Uuid)).toBe(`workflow:${key}`)
    for (const name of ['a', 'unknown']) await graph.say(name)
    await graph.run()
  })
})

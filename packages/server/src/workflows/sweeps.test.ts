import { encodeLease, type Uuid } from '@duly/domain'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { expectSound } from '../testing/facts.js'
import { reportOf, words } from '../testing/lives.js'
import { openTestStore } from '../testing/test-node.js'
import { Graph, type NodeSpec, whole } from '../testing/workflows.js'

const { node } = await openTestStore()
const api = { kind: 'api', name: 'tester' } as const
/** What one transaction cancels. */
const part = 1_000
const failFast = { failurePolicy: 'fail_fast' } as const

/** A first task, and others of which every other one waits for it. */
const large = (others: number): Record<string, NodeSpec> => ({
  first: {},
  ...Object.fromEntries(
    Array.from({ length: others }, (_, n) => [`n${n}`, n % 2 ? { after: ['first'] } : { task: { queue: 'idle' } }]),
  ),
})

const endsOf = (id: Uuid) =>
  node.query<{ status: string; reason: string | null; count: number; events: number }>(
    `select u.status, u.reason, count(*)::integer as count, sum((
       select count(*) from task_events e where e.task_id = u.id and e.transition = 'cancel'))::integer as events
     from workflow_nodes n join outcomes u on u.id = n.id where n.workflow_id = $1 group by 1, 2 order by 3`,
    [id],
  )
const cancelledOf = (count: number, reason: string) => ({ status: 'CANCELLED', reason, count, events: count })
const partsOf = () => node.settled.map(({ ended }) => ended.length).filter((ended) => ended > 0)

/** As a transaction leaves it that has no room for the rest. */
const begin = (id: Uuid) =>
  node.query(`update workflows set sweep_reason = 'workflow_failed', sweep_actor = 'workflow' where id = $1`, [id])

beforeEach(() => void node.settled.splice(0))
afterEach(() => expectSound(node))

describe('what is open in workflows', () => {
  test('that fail in one report is cancelled in parts, what could start before what waits', async () => {
    const sizes = [1_300, 1_200, 1_100]
    const graphs = await Promise.all(
      sizes.map((others) => Graph.submit(node, large(others), { ...failFast, queue: 'f' })),
    )
    const [{ worker } = graphs[0] as Graph] = graphs
    const tasks = await node.claim(worker, 3, { queue: 'f' })
    expect(tasks).toHaveLength(3)
    const reports = tasks.map((task) => reportOf({ id: task.id, lease: encodeLease(task) }, words.fail))
    await node.reports.report(worker, reports)
    expect(partsOf()).toEqual([part])
    expect(node.settled[0]?.unsettled).toHaveLength(3)
    // but for the three that failed and what was cancelled, no row of a node was touched
    const noted = `select from workflow_nodes where ended is not null or failed > 0`
    expect(await node.query(noted)).toHaveLength(part + 3)
    await node.nodeEnds.drained()
    expect(Math.max(...partsOf())).toBe(part)
    expect(node.settled.flatMap(({ unblocked }) => unblocked)).toEqual([])
    for (const [n, graph] of graphs.entries()) {
      expect(await graph.status()).toBe('FAILED')
      expect(await endsOf(graph.id)).toEqual([
        { status: 'FAILED', reason: null, count: 1, events: 0 },
        cancelledOf(sizes[n] as number, 'workflow_failed'),
      ])
    }
    const first = node.settled.find(({ ended }) => ended.length > 0)?.ended ?? []
    const ready = await node.query(`select from workflow_nodes where id = any ($1) and parents = 0`, [
      first.map(({ id }) => id),
    ])
    expect(ready.length).toBeGreaterThanOrEqual(Math.min(...sizes) / 2)
  })

  test('that is cancelled by a call is cancelled in parts, its running task being told', async () => {
    const graph = await Graph.submit(node, large(1_500))
    await graph.claim()
    expect(await node.workflows.cancel(graph.id, null, api)).toMatchObject({ status: 'RUNNING', cancelRequested: true })
    expect(partsOf()).toEqual([part - 1, 501])
    expect(node.toldToCancel).toContain(graph.worker.row.id)
    await graph.say('first', words.stop)
    expect(await graph.status()).toBe('CANCELLED')
    expect(await endsOf(graph.id)).toEqual([{ ...cancelledOf(1_501, 'workflow_cancelled'), events: 1_500 }])
  })
})

describe('a workflow of which more is to be cancelled', () => {
  const nodes = { a: {}, b: { after: ['a'] }, c: {}, d: { after: ['c'], rule: 'all_done' } } as const

  test('unblocks nothing any more, whatever ends in it', async () => {
    const graph = await Graph.submit(node, nodes, failFast)
    await graph.claim()
    await begin(graph.id)
    await graph.say('a')
    await node.nodeEnds.drained()
    expect(node.settled.flatMap(({ unblocked }) => unblocked)).toEqual([])
    expect(await graph.standing()).toEqual({
      ...{ a: 'SUCCEEDED', b: 'CANCELLED workflow_failed', c: 'RUNNING workflow_failed' },
      d: 'CANCELLED workflow_failed',
    })
    await graph.say('c', words.stop)
    expect(await graph.status()).toBe('FAILED')
  })

  test('is gone on with by any node, when the one that began has died', async () => {
    const graph = await Graph.submit(node, { ...nodes, a: { task: { delayMs: 60_000 } } }, failFast)
    await begin(graph.id)
    expect(await node.stores.watch.mark('00000000-0000-7000-8000-000000000001')).toMatchObject({ isUnsettled: true })
    while (await node.nodeEnds.settle()) await node.nodeEnds.drained()
    expect(Object.values(await graph.standing())).toEqual(Array(4).fill('CANCELLED workflow_failed'))
    expect(await node.stores.watch.mark('00000000-0000-7000-8000-000000000001')).toMatchObject({ isUnsettled: false })
  })

  test('is not run again before nothing is left', async () => {
    const graph = await Graph.submit(node, nodes, failFast)
    await graph.claim()
    await graph.say('a', words.fail)
    await graph.say('c', words.stop)
    await begin(graph.id)
    await expect(node.workflows.retry(graph.id, null, api, whole)).rejects.toMatchObject({ code: 'store_unavailable' })
    await node.nodeEnds.settle()
    expect(await node.workflows.retry(graph.id, null, api, whole)).toMatchObject({ status: 'RUNNING' })
    await graph.run()
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { drawnEnds, graphs, play, type Standing, type TestGraph } from '../testing/graphs.js'
import { planRetry, type RetryNode, type RetryPlan } from './retry-plan.js'
import { judgeNode, type NodeEnd, parentCounts, type TriggerRule } from './trigger.js'

const stands = (end: NodeEnd | null, triggered = true, triggerRule: TriggerRule = 'all_succeeded'): RetryNode => ({
  end,
  triggered,
  triggerRule,
})
const verdicts = ({ reopened }: RetryPlan) => Object.fromEntries(reopened.map(({ node, verdict }) => [node, verdict]))

describe('planRetry', () => {
  const chain = [[], [0], [1]]

  it('runs what failed again, blocks what it had blocked, and leaves what succeeded', () => {
    const nodes = [stands('succeeded'), stands('failed'), stands('failed', false)]
    const plan = planRetry(nodes, chain)
    expect(verdicts(plan)).toEqual({ 1: 'run', 2: 'wait' })
    expect(plan.reopened[1]?.counts).toEqual({ parents: 1, succeeded: 0, skipped: 0, failed: 0 })
    expect(plan).toMatchObject({ recounted: [], unmet: [] })
  })

  it('leaves a clean-up that ran, with its parents recounted', () => {
    const plan = planRetry([stands('failed'), stands('succeeded', true, 'one_failed')], [[], [0]])
    expect(verdicts(plan)).toEqual({ 0: 'run' })
    expect(plan.recounted).toEqual([{ node: 1, counts: { parents: 1, succeeded: 0, skipped: 0, failed: 0 } }])
  })

  it('opens a clean-up again that had been skipped', () => {
    const nodes = [stands('failed'), stands('failed', false), stands('skipped', false, 'one_failed')]
    expect(verdicts(planRetry(nodes, [[], [0], [1]], { seeds: [0] }))).toEqual({ 0: 'run', 1: 'wait', 2: 'wait' })
  })

  it('of one seed opens what hangs behind it, but not what another failure blocks as well', () => {
    const nodes = [stands('failed'), stands('failed'), stands('failed', false), stands('failed', false)]
    const plan = planRetry(nodes, [[], [], [0], [0, 1]], { seeds: [0] })
    expect(verdicts(plan)).toEqual({ 0: 'run', 2: 'wait' })
    expect(plan.recounted).toEqual([{ node: 3, counts: { parents: 2, succeeded: 0, skipped: 0, failed: 1 } }])
  })

  it('of one seed leaves what failed by itself behind it', () => {
    const plan = planRetry([stands('failed'), stands('failed', true, 'all_done')], [[], [0]], { seeds: [0] })
    expect(verdicts(plan)).toEqual({ 0: 'run' })
    expect(plan.recounted).toMatchObject([{ node: 1 }])
  })

  it('tells of a seed whose rule cannot be met by what stands', () => {
    const nodes = [stands('failed'), stands('failed', false)]
    expect(planRetry(nodes, [[], [0]], { seeds: [1] })).toEqual({ reopened: [], recounted: [], unmet: [1] })
  })

  it('recounts what waits in a workflow that is still open', () => {
    const nodes = [stands('failed'), stands(null), stands(null, false, 'all_done')]
    expect(planRetry(nodes, [[], [], [0, 1]], { seeds: [0] }).recounted).toEqual([
      { node: 2, counts: { parents: 2, succeeded: 0, skipped: 0, failed: 0 } },
    ])
  })

  it('opens a cancelled chain again from its first task on', () => {
    const nodes = [stands('cancelled'), stands('cancelled', false), stands('cancelled', false)]
    expect(verdicts(planRetry(nodes, chain))).toEqual({ 0: 'run', 1: 'wait', 2: 'wait' })
  })

  it('skips what was cancelled by hand where its parents ended so that it would have been skipped, and tells on', () => {
    // 0 failed; 1 was not needed; 2 was cancelled before 1 was skipped; 3 had failed for 2
    const nodes = [
      ...[stands('failed'), stands('skipped', false, 'one_failed')],
      ...[stands('cancelled', false), stands('failed', false, 'none_failed')],
    ]
    const plan = planRetry(nodes, [[], [], [1], [2]])
    expect(verdicts(plan)).toEqual({ 0: 'run', 2: 'skip', 3: 'wait' })
    expect(plan).toMatchObject({ recounted: [], unmet: [] })
  })

  it('skips what one replayed node had made fail, if another parent was skipped', () => {
    const nodes = [stands('failed'), stands('skipped', false), stands('failed', false)]
    expect(verdicts(planRetry(nodes, [[], [], [0, 1]], { seeds: [0], isNamed: true }))).toEqual({ 0: 'run', 2: 'skip' })
  })

  it('does not skip a node that was asked for by name', () => {
    const nodes = [stands('skipped', false), stands('cancelled', false)]
    const named = planRetry(nodes, [[], [0]], { seeds: [1], isNamed: true })
    expect(named).toEqual({ reopened: [], recounted: [], unmet: [1] })
  })

  it('goes down a chain of 10,000 without recursion', () => {
    const parents = Array.from({ length: 10_000 }, (_, place) => (place === 0 ? [] : [place - 1]))
    const nodes = parents.map((_, place) => stands('failed', place === 0))
    expect(planRetry(nodes, parents).reopened).toHaveLength(10_000)
  })
})

interface Played {
  readonly graph: TestGraph
  readonly standing: Standing
  readonly seeds: number[]
}

/** Graphs that were played to some point, in some order, with some of their ended nodes. */
const played: fc.Arbitrary<Played> = graphs({ maxNodes: 300, maxEdges: 600 })
  .chain((graph) =>
    fc.record({
      graph: fc.constant(graph),
      drawn: drawnEnds(graph.parents.length),
      picks: fc.array(fc.nat(), { minLength: 1, maxLength: 20 }),
      steps: fc.oneof(fc.constant(Number.POSITIVE_INFINITY), fc.nat(graph.parents.length)),
      chance: fc.integer({ min: 1, max: 5 }),
    }),
  )
  .map(({ graph, drawn, picks, steps, chance }) => {
    let turn = 0
    const choose = (candidates: readonly number[]) =>
      candidates[(picks[turn++ % picks.length] ?? 0) % candidates.length] ?? 0
    const standing = play(graph, { choose, endOf: (node) => drawn[node] ?? 'failed', steps })
    const seeds = standing.ends.flatMap((end, node) =>
      end !== null && end !== 'succeeded' && node % chance === 0 ? [node] : [],
    )
    return { graph, standing, seeds }
  })

const nodesOf = ({ graph, standing }: Played): RetryNode[] =>
  graph.rules.map((triggerRule, node) => ({
    triggerRule,
    end: standing.ends[node] ?? null,
    triggered: standing.triggered[node] ?? false,
  }))

/** The obvious way, without an order: judge every node by what is open so far, again and again, until nothing changes. */
function slowlyReopened({ graph, standing, seeds }: Played): Set<number> {
  const isSeed = new Set(seeds)
  let open = new Set<number>()
  for (;;) {
    const next = new Set([...graph.parents.keys()].filter(reopens))
    if (next.size === open.size && [...next].every((node) => open.has(node))) return open
    open = next
  }

  function reopens(node: number): boolean {
    const parents = graph.parents[node] ?? []
    const wasBlocked = standing.ends[node] !== null && standing.ends[node] !== 'succeeded' && !standing.triggered[node]
    if (!isSeed.has(node) && !(wasBlocked && parents.some((parent) => open.has(parent)))) return false
    const ends = parents.map((parent) => (open.has(parent) ? null : (standing.ends[parent] ?? null)))
    const verdict = judgeNode(graph.rules[node] ?? 'all_done', parentCounts(ends))
    return verdict === 'run' || verdict === 'wait' || (verdict === 'skip' && standing.ends[node] !== 'skipped')
  }
}

describe('planRetry over played graphs', () => {
  it('opens what the obvious way opens, and tells of the other seeds', () => {
    fc.assert(
      fc.property(played, (given) => {
        const plan = planRetry(nodesOf(given), given.graph.parents, { seeds: given.seeds })
        const slow = slowlyReopened(given)
        expect(new Set(plan.reopened.map(({ node }) => node))).toEqual(slow)
        expect([...plan.unmet].sort(compare)).toEqual(given.seeds.filter((seed) => !slow.has(seed)).sort(compare))
      }),
    )
  })

  it('counts the ended parents of everything that has a parent which was opened', () => {
    fc.assert(
      fc.property(played, (given) => {
        const plan = planRetry(nodesOf(given), given.graph.parents, { seeds: given.seeds })
        const open = new Set(plan.reopened.map(({ node }) => node))
        const counted = [...plan.reopened, ...plan.recounted]
        for (const { node, counts } of counted) {
          const ends = (given.graph.parents[node] ?? []).map((up) =>
            open.has(up) ? null : (given.standing.ends[up] ?? null),
          )
          expect(counts).toEqual(parentCounts(ends))
        }
        const places = counted.map(({ node }) => node)
        expect(new Set(places).size).toBe(places.length)
        given.graph.parents.forEach((list, node) => {
          if (list.some((parent) => open.has(parent))) expect(places).toContain(node)
        })
      }),
    )
  })

  it('leaves a graph in which everything that was opened can go on to an end', () => {
    fc.assert(
      fc.property(played, (given) => {
        const plan = planRetry(nodesOf(given), given.graph.parents)
        const open = new Set(plan.reopened.map(({ node }) => node))
        const from = {
          ends: given.standing.ends.map((end, node) => (open.has(node) ? null : end)),
          triggered: given.standing.triggered.map((was, node) => was && !open.has(node)),
        }
        const { ends } = play(given.graph, { from, choose: ([first = 0]) => first, endOf: () => 'succeeded' })
        expect(ends).not.toContain(null)
      }),
      { numRuns: 50 },
    )
  })
})

function compare(a: number, b: number): number {
  return a - b
}

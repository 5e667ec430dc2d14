import fc from 'fast-check'
import { judgeNode, type NodeEnd, nodeEnds, parentCounts, type TriggerRule, triggerRules } from '../workflow/index.js'

/** A graph by places with a trigger rule for each node. */
export interface TestGraph {
  readonly parents: number[][]
  readonly rules: TriggerRule[]
}

/** Random graphs without cycles whose nodes stand in any order. */
export function graphs({ maxNodes, maxEdges }: { maxNodes: number; maxEdges: number }): fc.Arbitrary<TestGraph> {
  return fc.integer({ min: 1, max: maxNodes }).chain((count) =>
    fc
      .record({
        places: fc.shuffledSubarray([...Array(count).keys()], { minLength: count, maxLength: count }),
        pairs: fc.array(fc.tuple(fc.nat(count - 1), fc.nat(count - 1)), { maxLength: maxEdges }),
        rules: fc.array(fc.constantFrom(...triggerRules), { minLength: count, maxLength: count }),
      })
      .map(({ places, pairs, rules }) => {
        const downward = pairs.filter(([a, b]) => a !== b).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const)
        return {
          parents: gather(
            count,
            downward.map(([a, b]) => [places[a] ?? 0, places[b] ?? 0]),
          ),
          rules,
        }
      }),
  )
}

/** The lists of parents from pairs (parent, child); a pair counts once. */
export function gather(count: number, pairs: readonly (readonly [number, number])[]): number[][] {
  const parents: Set<number>[] = Array.from({ length: count }, () => new Set())
  for (const [parent, child] of pairs) parents[child]?.add(parent)
  return parents.map((set) => [...set])
}

/** How nodes stand: their ends, null while open, and whether they were judged to run. */
export interface Standing {
  readonly ends: (NodeEnd | null)[]
  readonly triggered: boolean[]
}

/**
 * Plays a graph by the obvious way: whoever can go on is looked for anew at each step, by the ends of all its parents. `choose` picks among
 * the nodes that can go on; `endOf` tells how one that runs ends. Goes on from `from`; stops when nothing can go on, or after `steps`.
 */
export function play(
  graph: TestGraph,
  {
    from,
    choose,
    endOf,
    steps = Number.POSITIVE_INFINITY,
  }: {
    from?: Standing
    choose: (candidates: readonly number[]) => number
    endOf: (node: number) => NodeEnd
    steps?: number
  },
): Standing {
  const ends = from?.ends.slice() ?? graph.parents.map(() => null)
  const triggered = from?.triggered.slice() ?? graph.parents.map(() => false)
  const verdictOf = (node: number) =>
    judgeNode(graph.rules[node] ?? 'all_done', parentCounts((graph.parents[node] ?? []).map((up) => ends[up] ?? null)))
  for (let step = 0; step < steps; step++) {
    const candidates = ends.flatMap((end, node) => (end === null && verdictOf(node) !== 'wait' ? [node] : []))
    if (candidates.length === 0) break
    const node = choose(candidates)
    const verdict = verdictOf(node)
    triggered[node] = verdict === 'run'
    ends[node] = verdict === 'run' ? endOf(node) : verdict === 'skip' ? 'skipped' : 'failed'
  }
  return { ends, triggered }
}

/** How a run ends, drawn for each node: success twice as often as each other way. */
export const drawnEnds = (count: number): fc.Arbitrary<NodeEnd[]> =>
  fc.array(fc.constantFrom('succeeded', ...nodeEnds.filter((end) => end !== 'skipped'), 'succeeded'), {
    minLength: count,
    maxLength: count,
  })

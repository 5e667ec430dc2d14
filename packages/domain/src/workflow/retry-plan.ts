import { childrenOf, type Parents, topologicalOrder } from './order.js'
import {
  judgeNode,
  type NodeEnd,
  type NodeVerdict,
  type ParentCounts,
  parentCounts,
  type TriggerRule,
} from './trigger.js'

/** A node as it stands before a retry. `end` null: open. `triggered`: it was judged to run. */
export interface RetryNode {
  readonly triggerRule: TriggerRule
  readonly end: NodeEnd | null
  readonly triggered: boolean
}

/**
 * A node to open again. `run`: PENDING (or SCHEDULED, if it has a delay of its own) at once; `wait`: BLOCKED until its parents have ended
 * again; `skip`: to be skipped at once, as its parents ended: what failed or was cancelled is not needed any more.
 */
export interface ReopenedNode {
  readonly node: number
  readonly verdict: 'run' | 'wait' | 'skip'
  readonly counts: ParentCounts
}

/** A node that stays as it is, and of which fewer parents have ended now. */
export interface RecountedNode {
  readonly node: number
  readonly counts: ParentCounts
}

/** Nodes in each list are parents before children. */
export interface RetryPlan {
  readonly reopened: readonly ReopenedNode[]
  readonly recounted: readonly RecountedNode[]
  /** Seeds that stay as they are: their rule can't be met by how their parents ended that are not opened. */
  readonly unmet: readonly number[]
}

/** What is run again. */
export interface RetryChoice {
  /** Places of ended nodes; by default everything that failed or was cancelled. */
  readonly seeds?: readonly number[]
  /** The one seed was asked for by name: it runs again or stays as it is, but is not skipped. */
  readonly isNamed?: boolean
}

/**
 * What a retry opens again: the seeds, and of what hangs behind them everything that never ran. What succeeded stays, and so does what ran
 * by itself and is no seed; behind it the search ends. Linear time.
 */
export function planRetry(
  nodes: readonly RetryNode[],
  parents: Parents,
  { seeds = unsuccessful(nodes), isNamed = false }: RetryChoice = {},
): RetryPlan {
  const isSeed = new Set(seeds)
  const ends = nodes.map(({ end }) => end)
  const touched = new Set<number>()
  const children = childrenOf(parents)
  const plan = { reopened: [] as ReopenedNode[], recounted: [] as RecountedNode[], unmet: [] as number[] }
  for (const place of topologicalOrder(parents)) {
    const node = nodes[place]
    if (node === undefined || !(isSeed.has(place) || touched.has(place))) continue
    const counts = parentCounts((parents[place] ?? []).map((parent) => ends[parent] ?? null))
    const maySkip = node.end !== 'skipped' && !(isNamed && isSeed.has(place))
    const verdict =
      isSeed.has(place) || wasBlocked(node) ? reopenedBy(judgeNode(node.triggerRule, counts), maySkip) : null
    if (verdict !== null) {
      plan.reopened.push({ node: place, verdict, counts })
      ends[place] = null
      for (const child of children[place] ?? []) touched.add(child)
    } else {
      if (touched.has(place)) plan.recounted.push({ node: place, counts })
      if (isSeed.has(place)) plan.unmet.push(place)
    }
  }
  return plan
}

/** Everything that failed or was cancelled. */
function unsuccessful(nodes: readonly RetryNode[]): number[] {
  return nodes.flatMap(({ end }, node) => (end === 'failed' || end === 'cancelled' ? [node] : []))
}

/** It ended without having run: skipped, failed for its dependencies, or cancelled while it waited for them. */
function wasBlocked({ end, triggered }: RetryNode): boolean {
  return end !== null && end !== 'succeeded' && !triggered
}

function reopenedBy(verdict: NodeVerdict, maySkip: boolean): ReopenedNode['verdict'] | null {
  return verdict === 'fail' || (verdict === 'skip' && !maySkip) ? null : verdict
}

/** When a node of a workflow runs, told by how its parents ended. */
export const triggerRules = ['all_succeeded', 'none_failed', 'all_done', 'one_succeeded', 'one_failed'] as const
/** When a node of a workflow runs, told by how its parents ended. */
export type TriggerRule = (typeof triggerRules)[number]

/** Each rule in words: when a node runs, and what becomes of it as soon as it is certain that it will not. */
export const triggerRuleDocs: Readonly<Record<TriggerRule, { readonly runs: string; readonly otherwise: string }>> = {
  all_succeeded: {
    runs: 'all SUCCEEDED',
    otherwise: 'skipped if one was skipped, FAILED (dependency) if one failed; whichever ended first',
  },
  none_failed: { runs: 'all SUCCEEDED or were skipped', otherwise: 'FAILED (dependency)' },
  all_done: { runs: 'all have ended, in whatever way', otherwise: '–' },
  one_succeeded: { runs: 'one SUCCEEDED', otherwise: 'FAILED (dependency) when none can' },
  one_failed: { runs: 'one FAILED, is DEAD or was CANCELLED, but not skipped', otherwise: 'skipped when none can' },
}

/**
 * How a node ended. `failed`: FAILED or DEAD; `skipped`: CANCELLED because its trigger rule had no need of it; `cancelled`: CANCELLED for
 * any other reason, by a person, the workflow, its expiry or a purge.
 */
export const nodeEnds = ['succeeded', 'skipped', 'failed', 'cancelled'] as const
/** How a node ended. */
export type NodeEnd = (typeof nodeEnds)[number]

/** The parents of a node: all of them, and those that have ended, by kind. */
export interface ParentCounts {
  readonly parents: number
  readonly succeeded: number
  readonly skipped: number
  readonly failed: number
}

/** Under which count an end stands with the children: whoever was cancelled has not done what they wait for. */
export function countAs(end: NodeEnd): 'succeeded' | 'skipped' | 'failed' {
  return end === 'cancelled' ? 'failed' : end
}

/** Counts the parents of one node; null: not ended. */
export function parentCounts(ends: readonly (NodeEnd | null)[]): ParentCounts {
  const counts = { parents: ends.length, succeeded: 0, skipped: 0, failed: 0 }
  for (const end of ends) if (end !== null) counts[countAs(end)]++
  return counts
}

/** What becomes of a node: it runs, is skipped, fails for its dependencies, or waits on. */
export type NodeVerdict = 'run' | 'skip' | 'fail' | 'wait'

/**
 * Judges a node by the ends of its parents, as soon as it is certain whether it runs; a verdict but `wait` is for ever. When one parent was
 * skipped and another failed, `all_succeeded` goes by the one that ended first; the skip wins if both stand when it is judged. A node
 * without parents runs, whatever its rule.
 */
export function judgeNode(rule: TriggerRule, counts: ParentCounts): NodeVerdict {
  if (counts.parents === 0) return 'run'
  return judges[rule](counts)
}

const openOf = ({ parents, succeeded, skipped, failed }: ParentCounts) => parents - succeeded - skipped - failed

const judges: Record<TriggerRule, (counts: ParentCounts) => NodeVerdict> = {
  all_succeeded: ({ parents, succeeded, skipped, failed }) => {
    if (skipped > 0) return 'skip'
    if (failed > 0) return 'fail'
    return succeeded === parents ? 'run' : 'wait'
  },
  none_failed: (counts) => {
    if (counts.failed > 0) return 'fail'
    return openOf(counts) === 0 ? 'run' : 'wait'
  },
  all_done: (counts) => (openOf(counts) === 0 ? 'run' : 'wait'),
  one_succeeded: (counts) => {
    if (counts.succeeded > 0) return 'run'
    return openOf(counts) === 0 ? 'fail' : 'wait'
  },
  one_failed: (counts) => {
    if (counts.failed > 0) return 'run'
    return openOf(counts) === 0 ? 'skip' : 'wait'
  },
}

/** Whether a node that runs by this rule takes the failure of a parent in, so that it does not fail the workflow. */
export function takesIn(rule: TriggerRule): boolean {
  return rule === 'all_done' || rule === 'one_failed' || rule === 'one_succeeded'
}

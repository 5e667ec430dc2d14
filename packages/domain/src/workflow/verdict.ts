import type { Parents } from './order.js'
import { type NodeEnd, type TriggerRule, takesIn } from './trigger.js'
import type { FinalWorkflowStatus } from './workflow-lifecycle.js'

/** What a node that ends FAILED or DEAD does to the rest of its workflow. */
export const failurePolicies = ['fail_dependents', 'fail_fast'] as const
/** What a node that ends FAILED or DEAD does to the rest of its workflow. */
export type FailurePolicy = (typeof failurePolicies)[number]

/** Each policy in words. */
export const failurePolicyDocs: Readonly<Record<FailurePolicy, string>> = {
  fail_dependents: 'the rest of the graph goes on',
  fail_fast: 'the first task that ends FAILED or DEAD cancels all that is open',
}

/** A node that has ended. `triggered`: it was judged to run. */
export interface EndedNode {
  readonly triggerRule: TriggerRule
  readonly end: NodeEnd
  readonly triggered: boolean
}

/**
 * The places of nodes that ended FAILED or DEAD and have no child that took that in: one whose rule asks for ends and not for successes
 * alone, and that was judged to run. Each of them fails the workflow.
 */
export function untakenFailures(nodes: readonly EndedNode[], parents: Parents): number[] {
  const taken = new Set<number>()
  nodes.forEach(({ triggerRule, triggered }, node) => {
    if (!triggered || !takesIn(triggerRule)) return
    for (const parent of parents[node] ?? []) taken.add(parent)
  })
  return nodes.flatMap(({ end }, node) => (end === 'failed' && !taken.has(node) ? [node] : []))
}

/** Why a workflow cancelled everything that was open in it. */
export type SweepReason = 'workflow_failed' | 'workflow_cancelled'

/** How the nodes of a workflow ended, when none is open any more. */
export interface WorkflowEnds {
  readonly failurePolicy: FailurePolicy
  /** The cancellation of the workflow was asked for. */
  readonly cancelRequested: boolean
  /** Nodes that ended FAILED or DEAD. */
  readonly failed: number
  /** Those of them that no child took in, as `untakenFailures` tells. */
  readonly untaken: number
  /** At least one node SUCCEEDED. */
  readonly hasSucceeded: boolean
  /** Nodes that the workflow itself cancelled are so still: a replay of others opened it again, and not these. The graver reason, if any. */
  readonly leftBy: SweepReason | null
}

/**
 * The end of a workflow. Under `fail_fast` every failure counts: what might have taken it in was cancelled. What an earlier run cancelled
 * as a whole stays undone for that reason, until it is retried. One of which nothing succeeded and nothing failed was cancelled task by
 * task, by hand, by expiry or by a purge: it did nothing that could be called a success.
 */
export function workflowVerdict(ends: WorkflowEnds): FinalWorkflowStatus {
  const { failurePolicy, cancelRequested, failed, untaken, hasSucceeded, leftBy } = ends
  if (cancelRequested) return 'CANCELLED'
  const failures = failurePolicy === 'fail_fast' ? failed : untaken
  if (failures > 0 || leftBy === 'workflow_failed') return 'FAILED'
  return hasSucceeded && leftBy === null ? 'SUCCEEDED' : 'CANCELLED'
}

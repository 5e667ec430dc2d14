import type { Parents } from './order.js'
import { type NodeEnd, type TriggerRule, takesIn } from './trigger.js'
import type { FinalWorkflowStatus } from './workflow-lifecycle.js'

/** What a node that ends FAILED or DEAD does to the rest of its workflow. */
export const failurePolicies = ['fail_dependents', 'fail_fast'] as const
/** `fail_dependents`: the rest of the graph goes on; `fail_fast`: all that is open is cancelled. */
export type FailurePolicy = (typeof failurePolicies)[number]

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

/** How the nodes of a workflow ended, when none is open any more. */
export interface WorkflowEnds {
  readonly failurePolicy: FailurePolicy
  /** Its cancellation was asked for, and at least one node was cancelled by that. */
  readonly wasCancelled: boolean
  /** Nodes that ended FAILED or DEAD. */
  readonly failed: number
  /** Those of them that no child took in, as `untakenFailures` tells. */
  readonly untaken: number
}

/** The end of a workflow. Under `fail_fast` every failure counts: what might have taken it in was cancelled. */
export function workflowVerdict({ failurePolicy, wasCancelled, failed, untaken }: WorkflowEnds): FinalWorkflowStatus {
  if (wasCancelled) return 'CANCELLED'
  const failures = failurePolicy === 'fail_fast' ? failed : untaken
  return failures > 0 ? 'FAILED' : 'SUCCEEDED'
}

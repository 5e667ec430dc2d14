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

/** How the nodes of a workflow ended, when none is open any more. */
export interface WorkflowEnds {
  readonly failurePolicy: FailurePolicy
  /** Its cancellation was asked for while a node was open. */
  readonly cancelRequested: boolean
  /** Nodes that ended FAILED or DEAD. */
  readonly failed: number
  /** Those of them that no child took in, as `untakenFailures` tells. */
  readonly untaken: number
}

/**
 * The end of a workflow. A cancellation that was accepted is kept, however what ran then ended. Under `fail_fast` every failure counts: what
 * might have taken it in was cancelled.
 */
export function workflowVerdict({
  failurePolicy,
  cancelRequested,
  failed,
  untaken,
}: WorkflowEnds): FinalWorkflowStatus {
  if (cancelRequested) return 'CANCELLED'
  const failures = failurePolicy === 'fail_fast' ? failed : untaken
  return failures > 0 ? 'FAILED' : 'SUCCEEDED'
}

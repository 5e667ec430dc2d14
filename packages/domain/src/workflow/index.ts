export { type CriticalPath, criticalPath, type TimedNode } from './critical-path.js'
export {
  type GraphError,
  type GraphNode,
  graphMaxErrors,
  type ValidGraph,
  validateGraph,
} from './graph.js'
export { planRetry, type RecountedNode, type ReopenedNode, type RetryNode, type RetryPlan } from './retry-plan.js'
export {
  countAs,
  judgeNode,
  type NodeEnd,
  type NodeVerdict,
  nodeEnds,
  type ParentCounts,
  parentCounts,
  type TriggerRule,
  takesIn,
  triggerRuleDocs,
  triggerRules,
} from './trigger.js'
export {
  type EndedNode,
  type FailurePolicy,
  failurePolicies,
  failurePolicyDocs,
  type SweepReason,
  untakenFailures,
  type WorkflowEnds,
  workflowVerdict,
} from './verdict.js'
export {
  type FinalWorkflowStatus,
  isOpenWorkflow,
  type WorkflowStatus,
  type WorkflowTransitionName,
  workflowStatuses,
  workflowStatusGuard,
  workflowTransitions,
} from './workflow-lifecycle.js'
export { renderWorkflows } from './workflows-page.js'

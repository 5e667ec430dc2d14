import { encodeId, type TaskStatus, type Uuid } from '@duly/domain'
import type {
  AddedNodes,
  DependencyResult,
  GrantedNode,
  SubmittedWorkflow,
  WorkflowNodeRecord,
  WorkflowRecord,
  WorkflowSummary,
} from '../model.js'
import { inStretches } from './stretch.js'
import { instant, RawJson, raw, type Writable, type WritableObject, writeJson } from './write-json.js'

interface StandingNode {
  readonly name: string
  readonly id: Uuid
  readonly status: TaskStatus
}

/**
 * An object by the names of nodes, in the order given: as an object of ours, `2` would come before `a`, and `__proto__` be none. Names need no
 * escapes.
 */
function byName<T extends { readonly name: string }>(nodes: readonly T[], write: (node: T) => Writable): RawJson {
  return new RawJson(`{${nodes.map((node) => `"${node.name}":${writeJson(write(node))}`).join(',')}}`)
}

const standing = (nodes: readonly StandingNode[]): WritableObject => ({
  tasks: byName(nodes, ({ status }) => status),
  task_ids: byName(nodes, ({ id }) => encodeId('task', id)),
})

export function writeSubmittedWorkflow({ id, status, nodes }: SubmittedWorkflow): string {
  return writeJson({ workflow_id: encodeId('wf', id), status, ...standing(nodes) })
}

export function writeAddedNodes(id: Uuid, { nodes }: AddedNodes): string {
  const replayed = nodes.filter(({ isNew }) => !isNew).map(({ name }) => name)
  return writeJson({ workflow_id: encodeId('wf', id), ...standing(nodes), replayed })
}

/** A workflow as lists tell it. */
export function workflowOf(workflow: WorkflowSummary): WritableObject {
  return {
    workflow_id: encodeId('wf', workflow.id),
    workflow_name: workflow.name,
    status: workflow.status,
    tenant_id: workflow.tenant,
    created_at: instant(workflow.createdAtMs),
    scheduled_at: instant(workflow.scheduledAtMs),
    completed_at: instant(workflow.completedAtMs),
    duration_ms: durationOf(workflow),
    cancel_requested: workflow.cancelRequested,
    failure_policy: workflow.failurePolicy,
    nodes: workflow.nodes,
    open: workflow.open,
    failed: workflow.failed,
  }
}

function durationOf({ createdAtMs, scheduledAtMs, completedAtMs }: WorkflowSummary): number | null {
  if (completedAtMs === null) return null
  return Math.max(0, Math.round(completedAtMs - Math.max(createdAtMs, scheduledAtMs ?? createdAtMs)))
}

/** The whole record of a workflow. A large graph takes a third of a second, in which others must be answered: it is written in turns. */
export async function writeWorkflow(workflow: WorkflowRecord): Promise<string> {
  const { nodes, durationMs } = workflow.criticalPath
  const graph = await inStretches(workflow.graph, (node) => {
    const made = writeJson(nodeOf(node))
    return { made, hashed: made.length }
  })
  return writeJson({
    ...workflowOf(workflow),
    metadata: raw(workflow.metadata),
    idempotency_key: workflow.idempotencyKey,
    run: workflow.run,
    graph: new RawJson(`[${graph.join(',')}]`),
    critical_path: { nodes, duration_ms: durationMs === null ? null : Math.round(durationMs) },
  })
}

function nodeOf(node: WorkflowNodeRecord): WritableObject {
  return {
    node_name: node.name,
    task_id: encodeId('task', node.id),
    task_type: node.taskType,
    queue: node.queue,
    status: node.status,
    trigger_rule: node.triggerRule,
    dependencies: node.dependencies,
    created_at: instant(node.createdAtMs),
    due_at: instant(node.dueAtMs),
    started_at: instant(node.startedAtMs),
    completed_at: instant(node.completedAtMs),
    attempts: node.attempts,
    failures: node.failures,
    reason: node.reason,
    error: node.error === null ? null : { class: node.error.class, message: node.error.message },
    added_by: node.addedBy,
  }
}

/** What a grant says of a task's place in its workflow; of any other task that there are no results. */
export function grantedNodeOf(node: GrantedNode | undefined): WritableObject {
  if (node === undefined) return { dependency_results: {} }
  const given = node.dependencies.filter(({ isOmitted }) => !isOmitted)
  return {
    dependency_results: byName(given, ({ result }) => raw(result)),
    dependency_results_omitted: omittedOf(node.dependencies),
    dependency_statuses: byName(node.dependencies, ({ status }) => status),
    workflow_id: encodeId('wf', node.workflowId),
    node_name: node.name,
  }
}

const omittedOf = (results: readonly DependencyResult[]): readonly string[] =>
  results.filter(({ isOmitted }) => isOmitted).map(({ name }) => name)

export function writeDependencyResults(results: readonly DependencyResult[]): string {
  const given = results.filter(({ isOmitted }) => !isOmitted)
  return writeJson({ results: byName(given, ({ result }) => raw(result)), omitted: omittedOf(results) })
}

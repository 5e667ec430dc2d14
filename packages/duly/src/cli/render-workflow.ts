import { TASK_STATUSES, type WorkflowNodeRecord, type WorkflowRecord, type WorkflowSummary } from '@duly/sdk'
import { failedItself } from './graph/tell-failures.js'
import { tellMs } from './graph/tell-nodes.js'
import { exactJson } from './render.js'
import { cell, facts, table } from './table.js'

/** Tasks that are listed one by one; of more there are counts, and those that failed by themselves. */
const LISTED = 100

/** A workflow for a reader: how it stands, and each of its tasks. */
export function renderWorkflow(workflow: WorkflowRecord): string {
  const { graph, criticalPath } = workflow
  const told = facts([
    ['workflow', workflow.id],
    ['name', workflow.name],
    ['status', statusOf(workflow)],
    ['tasks', tallyOf(graph)],
    ['created', workflow.createdAt.toISOString()],
    ['scheduled', workflow.scheduledAt?.toISOString()],
    ['completed', workflow.completedAt?.toISOString()],
    ['took', workflow.durationMs === null ? null : tellMs(workflow.durationMs)],
    ['on failure', workflow.failurePolicy],
    ['run', workflow.run === 1 ? null : workflow.run],
    ['idempotency key', workflow.idempotencyKey],
    ['metadata', workflow.metadata && exactJson(workflow, 'metadata')],
    ['longest chain', chainOf(criticalPath)],
  ])
  const shown = graph.length <= LISTED ? graph : graph.filter(failedItself)
  const more = shown.length - LISTED
  const rest = more > 0 ? `and ${more} more that failed; --json has all of them\n` : ''
  return shown.length === 0 ? told : `${told}\n${renderNodes(shown.slice(0, LISTED))}${rest}`
}

function statusOf({ status, cancelRequested }: WorkflowSummary): string {
  return cancelRequested && status === 'RUNNING' ? `${status} (cancellation requested)` : status
}

/** `4: 1 RUNNING, 3 SUCCEEDED`. */
function tallyOf(graph: readonly WorkflowNodeRecord[]): string {
  const counts = TASK_STATUSES.flatMap((status) => {
    const count = graph.filter((node) => node.status === status).length
    return count === 0 ? [] : [`${count} ${status}`]
  })
  return `${graph.length}: ${counts.join(', ')}`
}

function chainOf({ nodes, durationMs }: WorkflowRecord['criticalPath']): string | null {
  if (durationMs === null) return null
  const names = nodes.length <= 8 ? nodes : [...nodes.slice(0, 4), `… ${nodes.length - 8} more …`, ...nodes.slice(-4)]
  return `${names.join(' → ')} (${tellMs(durationMs)})`
}

function renderNodes(nodes: readonly WorkflowNodeRecord[]): string {
  const rows = nodes.map((node) => [
    node.name,
    node.status,
    node.taskType,
    node.attempts,
    node.startedAt === null || node.completedAt === null
      ? null
      : tellMs(node.completedAt.getTime() - node.startedAt.getTime()),
    node.id,
    node.error === null ? node.reason : `${node.error.class}: ${node.error.message}`,
  ])
  return table(['NAME', 'STATUS', 'TYPE', 'ATTEMPTS', 'TOOK', 'TASK', 'WHY'], rows)
}

export function renderWorkflows(workflows: readonly WorkflowSummary[]): string {
  if (workflows.length === 0) return 'No workflows.\n'
  const rows = workflows.map((workflow) => [
    workflow.id,
    workflow.name,
    statusOf(workflow),
    `${workflow.nodes - workflow.open}/${workflow.nodes}`,
    workflow.failed,
    workflow.tenantId,
    workflow.createdAt.toISOString(),
    workflow.durationMs === null ? null : tellMs(workflow.durationMs),
  ])
  return table(['WORKFLOW', 'NAME', 'STATUS', 'ENDED', 'FAILED', 'TENANT', 'CREATED', 'TOOK'], rows)
}

/** The line above a drawing. */
export function workflowHeading(workflow: WorkflowRecord): string {
  const ended = `${workflow.nodes - workflow.open} of ${workflow.nodes} ended`
  return `${[workflow.name, workflow.id, statusOf(workflow), ended].map(cell).join('  ')}\n`
}

import { createHash } from 'node:crypto'
import type {
  AddedTaskBody,
  AddWorkflowTasksBody,
  SubmitWorkflowBody,
  WorkflowListQueryBody,
  WorkflowTaskBody,
} from '@duly/contract'
import { type Caller, decodeId, type FieldError, validateGraph } from '@duly/domain'
import type {
  AddedWorkflowNode,
  JsonText,
  NewTask,
  NewWorkflow,
  NewWorkflowNode,
  WorkflowAddition,
  WorkflowFilters,
} from '../model.js'
import { canonicalText, hashRequest } from './canonical-text.js'
import { parseInstant } from './instant.js'
import type { Captures } from './json-captures.js'
import { invalid } from './problem.js'
import { inStretches } from './stretch.js'
import { batchPlace } from './submission-rules.js'
import { tenantOf, toNewTask } from './to-new-task.js'

/** What a submission has beside its parsed fields. */
export interface WorkflowTexts {
  readonly captures: Captures
  readonly idempotencyKey: string | undefined
  readonly traceparent: string | null
  /** Who calls: the key, and the tenant that it is bound to. */
  readonly caller: Pick<Caller, 'keyId' | 'tenant'>
}

/**
 * A submission with its defaults. The body must have passed its schema and its rules.
 * @throws DulyError `forbidden` when a bound key names another tenant, `invalid_request` when a task names another than the workflow's
 */
export async function toNewWorkflow(body: SubmitWorkflowBody, texts: WorkflowTexts): Promise<NewWorkflow> {
  const { captures } = texts
  const boundTo = texts.caller.tenant
  const tenant = tenantOf(body, boundTo)
  requireTenant(body.tasks, tenant)
  const idempotencyKey = body.idempotency_key ?? texts.idempotencyKey ?? null
  return {
    tenant,
    boundTo,
    name: body.workflow_name,
    nodes: toNodes(body.tasks, { ...texts, tenant }),
    scheduledAtMs: body.scheduled_at == null ? null : parseInstant(body.scheduled_at),
    failurePolicy: body.failure_policy ?? 'fail_dependents',
    metadata: captures.text('metadata') ?? null,
    idempotencyKey,
    requestHash: idempotencyKey === null ? null : await hashWorkflow(body, captures),
    traceparent: texts.traceparent,
  }
}

/** A task of a workflow names no tenant, or the workflow's. */
function requireTenant(tasks: readonly WorkflowTaskBody[], tenant: string): void {
  const errors = tasks.flatMap(({ metadata }, index): FieldError[] => {
    const named = metadata?.tenant_id
    if (named === undefined || named === tenant) return []
    const message = `names another tenant than ${tenant}, the workflow's; name the tenant in the metadata of the workflow`
    return [{ path: `tasks[${index}].metadata.tenant_id`, message }]
  })
  if (errors.length > 0) throw invalid('invalid_request', errors)
}

interface NodeTexts extends WorkflowTexts {
  readonly tenant: string
}

function toNodes(tasks: readonly WorkflowTaskBody[], texts: NodeTexts): NewWorkflowNode[] {
  const { parents } = validateGraph(
    tasks.map(({ task_id: name, dependencies = [], trigger_rule: triggerRule = 'all_succeeded' }) => ({
      name,
      dependencies,
      triggerRule,
    })),
  )
  return tasks.map((task, index) => ({
    name: task.task_id,
    task: { ...taskOf(task, index, texts), tenant: texts.tenant },
    dependencies: parents[index] ?? [],
    triggerRule: task.trigger_rule ?? 'all_succeeded',
  }))
}

type NodeTask = Omit<NewTask, 'tenant'>

/** A node takes no key: the workflow has it. */
function taskOf(task: WorkflowTaskBody, index: number, texts: WorkflowTexts): NodeTask {
  const { tenant: _, ...rest } = toNewTask(task, {
    ...batchPlace(texts.captures, index),
    request: '',
    idempotencyKey: undefined,
    traceparent: texts.traceparent,
    caller: texts.caller,
  })
  return rest
}

/**
 * SHA-256 over the canonical texts of the request, as `hashRequest` does for a task, but task by task: a large workflow takes seconds, in
 * which others must be answered.
 */
async function hashWorkflow(body: SubmitWorkflowBody, captures: Captures): Promise<Buffer> {
  const { workflow_name, scheduled_at, failure_policy } = body
  const hash = createHash('sha256').update(JSON.stringify([workflow_name, scheduled_at, failure_policy]))
  hash.update(canonicalText(captures.text('metadata') ?? 'null'))
  await inStretches(body.tasks, (_, index) => {
    const text = captures.text('tasks[*]', index) ?? ''
    return { made: hash.update(canonicalText(text)), hashed: text.length }
  })
  return hash.digest()
}

/** Nodes that a running task adds; each has the hash of its request, so that a later attempt can say the same again. */
export async function toAddition(body: AddWorkflowTasksBody, texts: WorkflowTexts): Promise<WorkflowAddition> {
  const nodes = await inStretches(body.tasks, (task, index) => {
    const text: JsonText = texts.captures.text('tasks[*]', index) ?? ''
    return { made: addedNodeOf(task, index, { ...texts, text }), hashed: text.length }
  })
  return { adder: decodeId('task', body.task_id), lease: body.lease, nodes }
}

function addedNodeOf(
  task: AddedTaskBody,
  index: number,
  { text, ...texts }: WorkflowTexts & { readonly text: JsonText },
): AddedWorkflowNode {
  return {
    name: task.task_id,
    task: taskOf(task, index, texts),
    namedTenant: (task.metadata?.tenant_id as string | undefined) ?? null,
    dependencies: task.dependencies ?? [],
    waitsForAdder: task.waits_for_adder ?? true,
    triggerRule: task.trigger_rule ?? 'all_succeeded',
    requestHash: hashRequest(text),
  }
}

export function toWorkflowFilters(query: WorkflowListQueryBody): WorkflowFilters {
  const instantOf = (text: string | undefined) => (text === undefined ? null : parseInstant(text))
  return {
    status: query.status ?? null,
    name: query.workflow_name ?? null,
    tenant: query.tenant_id ?? null,
    createdAfterMs: instantOf(query.created_after),
    createdBeforeMs: instantOf(query.created_before),
  }
}

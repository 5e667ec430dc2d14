import {
  failurePolicies,
  failurePolicyDocs,
  limits,
  triggerRuleDocs,
  triggerRules,
  workflowStatuses,
} from '@duly/domain'
import Type, { type Static } from 'typebox'
import {
  Count,
  closed,
  Instant,
  id,
  list,
  MetadataSchema,
  NullableInstant,
  NullableText,
  name,
  nullable,
  PageQuery,
  plainText,
  Status,
  typed,
  WaitSeconds,
} from './common.js'
import { SubmitTask, Task, TaskHeaders } from './tasks.js'

const { task_type, idempotency_key: _key, ...taskFields } = SubmitTask.properties

const NodeName = name({ description: 'Its name in the workflow, unique there.', examples: ['create-account'] })

const TriggerRuleEnum = Type.Enum([...triggerRules], {
  description: `How the tasks that it depends on must have ended; judged as soon as that is certain. Default ${triggerRules.map((rule) => `${rule}: ${triggerRuleDocs[rule].runs}`).join('; ')}.`,
})

const FailurePolicyEnum = Type.Enum([...failurePolicies], {
  description: `Default ${failurePolicies.map((policy) => `${policy}: ${failurePolicyDocs[policy]}`).join('; ')}.`,
})

export const WorkflowStatusEnum = Type.Enum(
  workflowStatuses.map((status) => status.name),
  { description: workflowStatuses.map((status) => `${status.name}: ${status.doc}`).join('\n') },
)

/** A task of a workflow: every field of a task but `idempotency_key`, which the workflow has. */
export const WorkflowTask = closed(
  {
    task_id: NodeName,
    task_type,
    dependencies: Type.Optional(
      Type.Array(name(), {
        maxItems: limits.workflowMaxNodes,
        description: 'The tasks, by their `task_id`, whose ends it waits for. Absent or empty: it waits for none.',
      }),
    ),
    trigger_rule: Type.Optional(TriggerRuleEnum),
    ...taskFields,
  },
  { examples: [{ task_id: 'send-welcome-email', task_type: 'send_email', dependencies: ['create-account'] }] },
)
export type WorkflowTaskBody = Static<typeof WorkflowTask>

export const SubmitWorkflow = closed(
  {
    workflow_name: name({ description: 'What it is called; need not be unique.', examples: ['user-onboarding'] }),
    tasks: Type.Array(WorkflowTask, {
      minItems: 1,
      maxItems: limits.workflowMaxNodes,
      description: `In any order; at most ${limits.workflowMaxEdges} dependencies in all.`,
    }),
    scheduled_at: Type.Optional(
      nullable<string>('string', {
        format: 'date-time',
        description: 'Nothing of it starts before this instant. Absent, null or in the past: now.',
      }),
    ),
    failure_policy: Type.Optional(FailurePolicyEnum),
    idempotency_key: Type.Optional(
      plainText(limits.idempotencyKeyMaxChars, {
        description: 'The same key and the same request give the same workflow. Also as the header Idempotency-Key.',
      }),
    ),
    metadata: Type.Optional(MetadataSchema),
  },
  {
    examples: [
      {
        workflow_name: 'user-onboarding',
        tasks: [
          { task_id: 'create-account', task_type: 'create_account', payload: { user: 'a@example.com' } },
          { task_id: 'send-welcome-email', task_type: 'send_email', dependencies: ['create-account'] },
          { task_id: 'setup-defaults', task_type: 'setup_user_defaults', dependencies: ['create-account'] },
          {
            task_id: 'notify-sales',
            task_type: 'notify_slack',
            dependencies: ['send-welcome-email', 'setup-defaults'],
          },
        ],
      },
    ],
  },
)
export type SubmitWorkflowBody = Static<typeof SubmitWorkflow>

/** An object whose keys are the names of nodes. */
function byNode<T>(value: Record<string, unknown>, description: string, example: T) {
  return typed<Record<string, T>>({
    type: 'object',
    description,
    additionalProperties: value,
    examples: [{ 'create-account': example }],
  })
}

const nodeStatuses = byNode({ enum: Status.enum }, 'The status of each task, by its name in the workflow.', 'PENDING')
const nodeIds = byNode({ type: 'string' }, 'The id of each task, by its name.', 'task-01m8m8g63ye0v964cp0nfyyggj')

export const SubmittedWorkflow = closed({
  workflow_id: id('wf'),
  status: WorkflowStatusEnum,
  tasks: nodeStatuses,
  task_ids: nodeIds,
})

const summaryFields = {
  workflow_id: id('wf'),
  workflow_name: name(),
  status: WorkflowStatusEnum,
  tenant_id: name(),
  created_at: Instant,
  scheduled_at: NullableInstant,
  completed_at: NullableInstant,
  duration_ms: nullable<number>('integer', {
    description: 'From its creation, or the instant it was scheduled for, to its end.',
  }),
  cancel_requested: Type.Boolean(),
  failure_policy: FailurePolicyEnum,
  nodes: Type.Integer({ minimum: 0, description: 'Tasks of it, added ones too.' }),
  open: Type.Integer({ minimum: 0, description: 'Those that have not ended.' }),
  failed: Type.Integer({ minimum: 0, description: 'Those that ended FAILED or DEAD.' }),
}

/** What a list tells of a workflow: all but its graph. */
export const WorkflowSummary = closed(summaryFields)
export const WorkflowList = list(WorkflowSummary)

export const WorkflowNode = closed({
  node_name: name({ description: 'Its name in the workflow.' }),
  task_id: id('task'),
  task_type: name(),
  queue: name(),
  status: Status,
  trigger_rule: TriggerRuleEnum,
  dependencies: Type.Array(name()),
  created_at: Instant,
  due_at: Task.properties.due_at,
  started_at: NullableInstant,
  completed_at: NullableInstant,
  attempts: Count,
  failures: Count,
  reason: NullableText,
  error: Type.Union([closed({ class: Type.String(), message: Type.String() }), Type.Null()]),
  added_by: nullable<string>('string', {
    description: 'The node whose task added it while it ran; null: it was submitted with the workflow.',
  }),
})

export const Workflow = closed({
  ...summaryFields,
  metadata: Task.properties.metadata,
  idempotency_key: NullableText,
  run: Type.Integer({ minimum: 1, description: 'Raised by each retry, and by the retry of one of its tasks.' }),
  graph: Type.Array(WorkflowNode, { description: 'In the order of submission, added ones behind.' }),
  critical_path: closed(
    {
      nodes: Type.Array(name(), { description: 'Names, first to last.' }),
      duration_ms: nullable<number>('integer', { description: 'To the end of its last task, or to now.' }),
    },
    { description: 'The chain of tasks that its time went by: each waited for the one before it, or was added by it.' },
  ),
})

/** A task that a running one adds: as of a workflow that is submitted, and whether it waits for who adds it. */
const AddedTask = closed({
  ...WorkflowTask.properties,
  dependencies: Type.Optional(
    Type.Array(name(), {
      maxItems: limits.workflowMaxNodes,
      description:
        'The tasks, by their `task_id`, whose ends it waits for. Absent or empty: it waits for the end of the task that adds it.',
    }),
  ),
  waits_for_adder: Type.Optional(
    Type.Boolean({
      description:
        'False: it waits for no other task, and starts as soon as it is due, while the one that adds it runs. Not together with dependencies. Default true.',
    }),
  ),
})
export type AddedTaskBody = Static<typeof AddedTask>

/** What a running task adds to its workflow. */
export const AddWorkflowTasks = closed(
  {
    task_id: id('task', { description: 'The task that adds them: one of this workflow, running.' }),
    lease: Type.String({ minLength: 1, maxLength: 64, description: 'The lease of its running attempt.' }),
    tasks: Type.Array(AddedTask, {
      minItems: 1,
      maxItems: limits.workflowMaxNodes,
      description:
        'All or none. They may depend on each other and on tasks that the workflow has; one that names none depends on the task that adds it, unless `waits_for_adder` is false.',
    }),
  },
  {
    examples: [
      {
        task_id: 'task-01m8m8g63ye0v964cp0nfyyggj',
        lease: '1-00000000000000a1',
        tasks: [{ task_id: 'resize-1', task_type: 'resize_image', payload: { page: 1 } }],
      },
    ],
  },
)
export type AddWorkflowTasksBody = Static<typeof AddWorkflowTasks>

export const AddedWorkflowTasks = closed({
  workflow_id: id('wf'),
  tasks: nodeStatuses,
  task_ids: nodeIds,
  replayed: Type.Array(name(), { description: 'Those, by name, that an earlier call with the same body had added.' }),
})

export const WorkflowListQuery = closed({
  status: Type.Optional(WorkflowStatusEnum),
  workflow_name: Type.Optional(name({ description: 'Exactly this one.' })),
  tenant_id: Type.Optional(name({ description: 'A key that is bound to a tenant lists its own anyway.' })),
  created_after: Type.Optional(
    Type.String({ format: 'date-time', description: 'Created at this instant or later; in a URL, `+` is `%2B`.' }),
  ),
  created_before: Type.Optional(Type.String({ format: 'date-time', description: 'Created before this instant.' })),
  ...PageQuery,
})
export type WorkflowListQueryBody = Static<typeof WorkflowListQuery>

export const WorkflowParams = closed({ workflow_id: id('wf', { description: 'The id of the workflow.' }) })
export const WorkflowQuery = closed({ wait_seconds: Type.Optional(WaitSeconds) })
export const WorkflowHeaders = TaskHeaders

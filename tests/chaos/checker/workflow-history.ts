import type { FailurePolicy, TriggerRule, Uuid, WorkflowStatus } from '@duly/domain'
import type { ClientBase } from 'pg'

/** A workflow as the store has it after the run; how its tasks stand is in their own histories. */
export interface WorkflowHistory {
  readonly id: Uuid
  readonly mark: string | null
  readonly status: WorkflowStatus
  readonly failurePolicy: FailurePolicy
  readonly run: number
  readonly isCancelRequested: boolean
  readonly nodes: readonly StoredNode[]
}

export interface StoredNode {
  readonly id: Uuid
  readonly name: string
  readonly rule: TriggerRule
  readonly parents: readonly string[]
  /** The name of the task that added it; null: it was submitted. */
  readonly addedBy: string | null
}

export async function readWorkflowHistory(client: ClientBase): Promise<readonly WorkflowHistory[]> {
  return (await client.query<WorkflowHistory>(HISTORY)).rows
}

const HISTORY = `
with parents as (
  select e.child, jsonb_agg(p.name order by p.position) as names
  from workflow_edges e join workflow_nodes p on p.id = e.parent group by e.child
), graphs as (
  select n.workflow_id, jsonb_agg(jsonb_build_object('id', n.id, 'name', n.name, 'rule', n.trigger_rule,
      'parents', coalesce(p.names, '[]'), 'addedBy', a.name) order by n.position) as nodes
  from workflow_nodes n left join parents p on p.child = n.id left join workflow_nodes a on a.id = n.added_by
  group by n.workflow_id
)
select w.id, w.metadata::jsonb ->> 'mark' as mark, w.status, w.failure_policy as "failurePolicy", w.run,
  w.cancel_requested_at is not null as "isCancelRequested", coalesce(g.nodes, '[]') as nodes
from workflows w left join graphs g on g.workflow_id = w.id
order by w.id`

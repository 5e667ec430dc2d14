import * as workflows from '../workflows.js'
import { type ApiRouteGroup, apiBase } from './route.js'

const path = `${apiBase}/workflows`
const tag = 'workflows'
const one = { tag, params: workflows.WorkflowParams } as const
const replayed = { 'Idempotency-Replayed': 'true when an earlier submission made the workflow' }

export const workflowRoutes = {
  submitWorkflow: {
    tag,
    method: 'POST',
    path,
    summary: 'Submit a workflow: a graph of tasks',
    scope: 'submit',
    description:
      'All or nothing: every task of it exists when the answer comes. A task starts when the tasks that it depends on have ended as its trigger rule asks; their results are given to its handler. A cycle, an unknown dependency and a name given twice are refused, with their places.',
    headers: workflows.WorkflowHeaders,
    body: workflows.SubmitWorkflow,
    bodyLimit: 'batch',
    responses: {
      202: { description: 'Accepted: a new workflow.', schema: workflows.SubmittedWorkflow },
      200: {
        description: 'The same key and the same request made this workflow before; statuses are those of now.',
        schema: workflows.SubmittedWorkflow,
        headers: replayed,
      },
    },
    problems: ['idempotency_conflict', 'too_large', 'rate_limited', 'queue_full', 'commit_unknown'],
  },
  listWorkflows: {
    tag,
    method: 'GET',
    path,
    summary: 'List workflows, newest first',
    scope: 'read',
    description:
      'All filters must fit. A page looks at up to 10,000 workflows, so it can be short, or empty, and yet have a `next_cursor`: only null is the end.',
    query: workflows.WorkflowListQuery,
    responses: { 200: { description: 'A page, without graphs.', schema: workflows.WorkflowList } },
    problems: ['forbidden'],
  },
  getWorkflow: {
    ...one,
    method: 'GET',
    path: `${path}/{workflow_id}`,
    summary: 'Read a workflow: its graph, each task of it, its critical path',
    scope: 'read',
    description: 'With `wait_seconds` the answer is held until no task of it is open, at most that long.',
    query: workflows.WorkflowQuery,
    responses: { 200: { description: 'The whole record.', schema: workflows.Workflow } },
    problems: ['not_found'],
  },
  cancelWorkflow: {
    ...one,
    method: 'POST',
    path: `${path}/{workflow_id}/cancel`,
    summary: 'Cancel a workflow',
    scope: 'submit',
    description:
      'Tasks that wait are CANCELLED at once; running ones are marked, and their workers are told. It is CANCELLED when these have ended. Repeating it changes nothing.',
    responses: {
      200: { description: 'No task is open any more.', schema: workflows.WorkflowSummary },
      202: { description: 'Tasks of it run still; they were told.', schema: workflows.WorkflowSummary },
    },
    problems: ['not_found', 'wrong_state', 'commit_unknown'],
  },
  retryWorkflow: {
    ...one,
    method: 'POST',
    path: `${path}/{workflow_id}/retry`,
    summary: 'Run what failed of a workflow again',
    scope: 'submit',
    description:
      'Of a FAILED or CANCELLED one: what failed or was cancelled, and what that blocked, is opened again. What succeeded stays, with its result.',
    responses: { 200: { description: 'The record as it stands now.', schema: workflows.Workflow } },
    problems: ['not_found', 'wrong_state', 'commit_unknown'],
  },
  addWorkflowTasks: {
    ...one,
    method: 'POST',
    path: `${path}/{workflow_id}/tasks`,
    summary: 'Add tasks to a workflow from a running task of it',
    scope: 'work',
    description:
      'For handlers, while they run: how many tasks come next is known only then. The lease says that the attempt still counts. The same names with the same bodies again, in a later attempt too, add nothing.',
    body: workflows.AddWorkflowTasks,
    bodyLimit: 'batch',
    responses: {
      202: { description: 'Accepted: at least one is new.', schema: workflows.AddedWorkflowTasks },
      200: { description: 'All of them were there.', schema: workflows.AddedWorkflowTasks },
    },
    problems: ['not_found', 'wrong_state', 'lease_lost', 'idempotency_conflict', 'too_large', 'commit_unknown'],
  },
} as const satisfies ApiRouteGroup

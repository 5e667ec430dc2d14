/** Every status a workflow can have, each with its meaning. */
export const workflowStatuses = [
  {
    name: 'RUNNING',
    open: true,
    doc: 'At least one of its tasks has not ended; so also while it waits for its time, or for its cancellation.',
  },
  {
    name: 'SUCCEEDED',
    open: false,
    doc: 'All tasks have ended, at least one with success, and no failure is left that no other task took in.',
  },
  {
    name: 'FAILED',
    open: false,
    doc: 'All tasks have ended; one FAILED or is DEAD, and none that depends on it took that in.',
  },
  {
    name: 'CANCELLED',
    open: false,
    doc: 'Its cancellation was asked for; or its tasks were cancelled one by one, or expired, and none of them succeeded.',
  },
] as const

/** The status of a workflow. */
export type WorkflowStatus = (typeof workflowStatuses)[number]['name']
/** The status of a workflow of which no task is open. */
export type FinalWorkflowStatus = Exclude<WorkflowStatus, 'RUNNING'>

/** Whether a workflow in this status has a task that has not ended. */
export function isOpenWorkflow(status: WorkflowStatus): boolean {
  return status === 'RUNNING'
}

interface WorkflowTransition {
  readonly from: readonly WorkflowStatus[]
  readonly to: WorkflowStatus
  readonly doc: string
}

/** The one table of a workflow's transitions. Each is one compare-and-set, under the lock of the workflow. */
export const workflowTransitions = {
  submit: { from: [], to: 'RUNNING', doc: 'The workflow comes into being with all its tasks.' },
  succeed: { from: ['RUNNING'], to: 'SUCCEEDED', doc: 'The last open task ended, and every failure was taken in.' },
  fail: { from: ['RUNNING'], to: 'FAILED', doc: 'The last open task ended, and a failure was not taken in.' },
  request_cancel: { from: ['RUNNING'], to: 'RUNNING', doc: 'What waits is cancelled at once, what runs is marked.' },
  cancel: {
    from: ['RUNNING'],
    to: 'CANCELLED',
    doc: 'The last open task ended after the cancellation of the workflow was asked for, or after those of its tasks.',
  },
  retry: {
    from: ['FAILED', 'CANCELLED'],
    to: 'RUNNING',
    doc: 'What failed or was cancelled, and what that blocked, is opened again.',
  },
  replay: {
    from: ['SUCCEEDED', 'FAILED', 'CANCELLED'],
    to: 'RUNNING',
    doc: 'One task is run again, and with it what it blocked; the workflow is opened for these.',
  },
} as const satisfies Record<string, WorkflowTransition>

/** The name of a workflow's transition. */
export type WorkflowTransitionName = keyof typeof workflowTransitions

/** The SQL condition that a compare-and-set of this transition must contain. Made of constants only. */
export function workflowStatusGuard(name: Exclude<WorkflowTransitionName, 'submit'>, column = 'status'): string {
  if (!/^[a-z_]+(\.[a-z_]+)?$/.test(column)) throw new RangeError(`not a plain column name: ${column}`)
  const list = workflowTransitions[name].from.map((status) => `'${status}'`)
  return list.length === 1 ? `${column} = ${list[0]}` : `${column} in (${list.join(',')})`
}

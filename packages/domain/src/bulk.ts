import { allowedFrom, type TransitionName } from './lifecycle.js'
import { isOpen, type TaskStatus } from './statuses.js'

/** What can be done to many tasks at once. */
export const bulkActions = [
  { name: 'cancel', doc: 'Cancels what waits; what runs is marked and its worker told.' },
  { name: 'retry', doc: 'Runs FAILED, DEAD and CANCELLED tasks again, with their retries restored.' },
  { name: 'discard', doc: 'Takes DEAD tasks out of the dead letters, for good; their records stay, marked.' },
] as const
export type BulkAction = (typeof bulkActions)[number]['name']

/** How an operation on many tasks stands. */
export const bulkStatuses = [
  { name: 'RUNNING', doc: 'A node works at it, or will.' },
  { name: 'SUCCEEDED', doc: 'It came to the end; what failed or was skipped is counted.' },
  { name: 'CANCELLED', doc: 'Stopped on request; what was done stays done.' },
  { name: 'FAILED', doc: 'It could not go on; `error` says why. What was done stays done.' },
] as const
export type BulkStatus = (typeof bulkStatuses)[number]['name']

/** Which list the filter of an operation is of. */
export type BulkSource = 'tasks' | 'dead_letters'

const steps: Readonly<Record<BulkAction, readonly TransitionName[]>> = {
  cancel: ['cancel', 'request_cancel'],
  retry: ['replay'],
  discard: ['discard'],
}

/** The statuses of tasks that the action can change, from the table of transitions. */
export function changedBy(action: BulkAction): readonly TaskStatus[] {
  return steps[action].flatMap((step) => allowedFrom(step))
}

/**
 * The walks that find the tasks of an operation, one after the other: each a status, or null for all open ones together. Open tasks
 * change their status all the time, so that walks by status would miss some; what has ended stays in its own.
 *
 * @param status the one that the filter asks for; null: whatever the action can change
 */
export function walksOf(action: BulkAction, status: TaskStatus | null): readonly (TaskStatus | null)[] {
  if (status !== null) return [status]
  const statuses = changedBy(action)
  return statuses.every(isOpen) ? [null] : statuses
}

import { decodeId, encodeId } from '@duly/domain'
import { type LaunchedGraph, launchMark } from '../load/plans.js'
import type { TaskHistory } from './history.js'
import type { WorkflowSubmission } from './workflow-log.js'

/**
 * The workflows that recurring tasks launched, as if clients had submitted them: one for each task that has run, whatever its attempts; its
 * result names it.
 */
export function launchesOf(history: readonly TaskHistory[], graph: LaunchedGraph | undefined): WorkflowSubmission[] {
  if (graph === undefined) return []
  const { failurePolicy, nodes } = graph
  return history
    .filter(({ plan, attempt }) => plan === 'launch' && attempt > 0)
    .map(({ id, status, result, startedAt, completedAt }) => {
      const { launched }: { launched?: string } = JSON.parse(result ?? '{}')
      const isDone = status === 'SUCCEEDED'
      const asked = { mark: launchMark(encodeId('task', id)), key: null, failurePolicy, nodes }
      const at = { startedAt: startedAt ?? 0, endedAt: completedAt ?? 0 }
      const reply = { outcome: isDone ? 'ok' : 'unknown', status: null, code: null } as const
      return { ...at, ...reply, verb: 'submit', asked, id: isDone && launched ? decodeId('wf', launched) : null }
    })
}

import type { Uuid } from '@duly/domain'
import { isPlan, plans } from '../load/plans.js'
import { type Call, isOfTask } from './client-log.js'
import type { Finding } from './finding.js'
import type { TaskHistory } from './history.js'

const MAX_CRASHES = 3

/**
 * Point 3, what the load knows beforehand: each task ended as its plan says; CANCELLED only if somebody asked for that, or its
 * recurring task's next one took its place; DEAD by crashes only after three of them, DEAD by failures only after max_retries + 1 of
 * them. How the tasks of a workflow were cancelled, or failed for others, is judged with it.
 */
export function checkEnds(calls: readonly Call[], history: readonly TaskHistory[]): Finding[] {
  const asked = new Set<Uuid>()
  for (const call of calls) if (isOfTask(call) && call.verb === 'cancel' && call.outcome !== 'fail') asked.add(call.id)
  return history.flatMap((task) => {
    if (task.isOpen || task.status === null || !isPlan(task.plan)) return []
    const isOfGraph = task.workflowId !== null && (task.status === 'CANCELLED' || task.reason === 'dependency')
    if (isOfGraph) return []
    const isReplaced = task.cronId !== null && task.reason === 'overlap'
    if (task.status === 'CANCELLED')
      return asked.has(task.id) || isReplaced ? [] : [finding('cancelled, though nobody asked', task, '')]
    const isCrashed = task.status === 'DEAD' && task.crashes === MAX_CRASHES
    if (isCrashed) return []
    const { end } = plans[task.plan]
    if (task.status !== end)
      return [finding('not the end that its plan has', task, `${task.status} in place of ${end}: ${task.error}`)]
    return checkExhaustion(task)
  })
}

function checkExhaustion(task: TaskHistory): Finding[] {
  if (task.status !== 'DEAD' || task.failures === task.maxRetries + 1) return []
  return [
    finding('dead without its retries used up', task, `${task.failures} failures, max_retries ${task.maxRetries}`),
  ]
}

function finding(rule: string, task: TaskHistory, detail: string): Finding {
  return { point: 3, rule, subject: task.id, detail: `${task.plan}, attempt ${task.attempt} ${detail}`.trim() }
}

import type { Cause, Explanation, NearWorker } from '@duly/sdk'
import { adviceOn } from './explain-advice.js'
import { facts, table } from './table.js'

/** Why a task stands as it stands: the sentence that matters most, what helps, then every cause with its code. */
export function renderExplanation(explanation: Explanation): string {
  const { id, status, summary, causes } = explanation
  const [first, ...more] = adviceOn(explanation)
  const head = facts([
    ['task', id],
    ['status', status],
    ['why', summary],
    ['to do', first],
    ...more.map((advice) => ['', advice] as const),
  ])
  const rows = causes.map(({ code, message }) => [code, message])
  return `${head}\n${table(['CAUSE', 'WHAT IT MEANS HERE'], rows)}${renderNear(causes)}`
}

/** Workers that lack one thing, if the causes name some. */
function renderNear(causes: readonly Cause[]): string {
  const near = causes.flatMap(({ nearWorkers = [] }) => nearWorkers)
  if (near.length === 0) return ''
  const rows = near.map((worker) => [
    worker.workerId,
    worker.name,
    worker.missing.join(', ').replaceAll('_', ' '),
    shown(worker.queues),
    shown(worker.taskTypes),
  ])
  return `\n${table(['NEAREST WORKERS', 'NAME', 'MISSING', 'QUEUES', 'TASK TYPES'], rows)}`
}

const shown = (names: NearWorker['queues']): string => `${names.slice(0, 5).join(', ')}${names.length > 5 ? ', …' : ''}`

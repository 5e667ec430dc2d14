import type { WorkflowNodeRecord } from '@duly/sdk'
import { cell } from '../table.js'

/** What stands beside the name of a task: where it stands, how long it took or takes, and why. */
export function tellOne(node: WorkflowNodeRecord, now: Date): string {
  const { status, startedAt, completedAt, dueAt, failures, triggerRule } = node
  const took = startedAt === null ? null : tellMs((completedAt ?? now).getTime() - startedAt.getTime())
  const parts = [
    status,
    completedAt === null && status !== 'RUNNING' ? null : took,
    dueAt === null || completedAt !== null ? null : `due ${dueAt.toISOString()}`,
    failures > 0 ? `${failures} failed` : null,
    triggerRule === 'all_succeeded' ? null : triggerRule,
    whyOf(node),
  ]
  return joined(parts)
}

/** The same of tasks that stand alike; of their errors the first, and whether there are others. */
export function tellMany(nodes: readonly WorkflowNodeRecord[]): string {
  const [first] = nodes
  if (first === undefined) return ''
  const whys = new Set(nodes.map(whyOf))
  const [why = null] = whys
  return joined([first.status, why !== null && whys.size > 1 ? `${why} (and ${whys.size - 1} other reasons)` : why])
}

const joined = (parts: readonly (string | null)[]): string =>
  parts.flatMap((part) => (part === null ? [] : [cell(part)])).join('  ')

const whyOf = ({ error, reason }: WorkflowNodeRecord): string | null =>
  error === null ? reason : `${error.class}: ${error.message}`

/** A length of time in the unit that people would take. */
export function tellMs(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`
  const minutes = Math.round(ms / 60_000)
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

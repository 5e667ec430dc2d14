import type { WorkflowNodeRecord } from '@duly/sdk'
import { fit } from '../text-width.js'
import type { Canvas } from './canvas.js'
import { dyed, markOf } from './marks.js'
import { tellOne } from './tell-nodes.js'

/** Failed tasks that are named. */
const NAMED = 10

/** Whether it failed by itself, and not for want of another. */
export const failedItself = ({ status, reason }: Pick<WorkflowNodeRecord, 'status' | 'reason'>): boolean =>
  status === 'DEAD' || (status === 'FAILED' && reason !== 'dependency')

/** What failed by itself, by name, a line each over the whole width. */
export function tellFailures(
  nodes: readonly WorkflowNodeRecord[],
  { width, now, hasColours, isPlain }: Canvas,
): string {
  const failed = nodes.filter(failedItself)
  const lines = failed.slice(0, NAMED).map((node) => {
    const mark = markOf(node.status, isPlain)
    const text = fit(`${node.name}  ${tellOne(node, now)}`, width - 2)
    return `${hasColours ? dyed(mark, node.status) : mark} ${text}\n`
  })
  const more = failed.length - lines.length
  return lines.join('') + (more > 0 ? `  and ${more} more that failed\n` : '')
}

import type { TaskStatus, WorkflowNodeRecord } from '@duly/sdk'
import { fit, textWidth } from '../text-width.js'
import type { Canvas } from './canvas.js'
import type { Row } from './layers.js'
import { dyed, markOf } from './marks.js'
import { tellFailures } from './tell-failures.js'

/** One line a layer: how many tasks of which status, and the names of the first and the last; then what failed by itself. */
export function sumUp(rows: readonly Row<WorkflowNodeRecord>[], canvas: Canvas): string {
  const layers: WorkflowNodeRecord[][] = []
  for (const { layer, nodes } of rows) {
    const there = layers[layer]
    if (there === undefined) layers[layer] = [...nodes]
    else there.push(...nodes)
  }
  const digits = String(layers.length).length
  const lines = layers.map((nodes, layer) => layerLine(`layer ${String(layer + 1).padStart(digits)}  `, nodes, canvas))
  return lines.join('') + tellFailures(layers.flat(), canvas)
}

function layerLine(head: string, nodes: readonly WorkflowNodeRecord[], canvas: Canvas): string {
  const { width, hasColours, isPlain } = canvas
  const counts = [...countsOf(nodes)].map(([status, count]) => ({ status, text: `${count} ${status}` }))
  const names = nodes.length === 1 ? nodes[0]?.name : `${nodes[0]?.name} … ${nodes.at(-1)?.name}`
  const dye = (status: TaskStatus, text: string) => (hasColours ? dyed(text, status) : text)
  const told = counts.map(({ status, text }) => `${dye(status, markOf(status, isPlain))} ${text}`).join('  ')
  const plainWidth = textWidth(head) + counts.reduce((sum, { text }) => sum + 2 + textWidth(text) + 2, -2)
  const room = width - plainWidth - 2
  return `${head}${told}${room > 8 ? `  ${fit(names ?? '', room)}` : ''}\n`
}

function countsOf(nodes: readonly WorkflowNodeRecord[]): ReadonlyMap<TaskStatus, number> {
  const counts = new Map<TaskStatus, number>()
  for (const { status } of nodes) counts.set(status, (counts.get(status) ?? 0) + 1)
  return counts
}

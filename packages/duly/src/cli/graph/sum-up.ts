import type { TaskStatus, WorkflowNodeRecord } from '@duly/sdk'
import { fit, textWidth } from '../text-width.js'
import type { Canvas } from './canvas.js'
import type { Row } from './layers.js'
import { dyed, markOf } from './marks.js'
import { tellFailures } from './tell-failures.js'

/** Lines of a summary, what failed aside: as many as a look takes in. Of more layers, those that follow each other share lines. */
const MOST_LINES = 40

/** Layers that share a line: one, or some that follow each other. */
interface Stretch {
  readonly first: number
  readonly last: number
  readonly nodes: readonly WorkflowNodeRecord[]
}

/**
 * One line a layer: how many tasks of which status, and the names of the first and the last; then what failed by itself. Of more layers than
 * there is room for, those that stand alike share a line, and if that is not enough as many as it takes.
 */
export function sumUp(rows: readonly Row<WorkflowNodeRecord>[], canvas: Canvas): string {
  const layers: WorkflowNodeRecord[][] = []
  for (const { layer, nodes } of rows) {
    const there = layers[layer]
    if (there === undefined) layers[layer] = [...nodes]
    else for (const node of nodes) there.push(node)
  }
  const failures = tellFailures(layers.flat(), canvas)
  const room = (canvas.height ?? MOST_LINES) - (canvas.height === undefined ? 0 : failures.split('\n').length - 1)
  const stretches = stretchesOf(layers, Math.max(1, Math.min(MOST_LINES, room)))
  const heads = stretches.map(({ first, last }) =>
    first === last ? `layer ${first + 1}` : `layers ${first + 1}-${last + 1}`,
  )
  const widest = Math.max(...heads.map(({ length }) => length))
  const lines = stretches.map(({ nodes }, at) => layerLine(`${headOf(heads[at] ?? '', widest)}  `, nodes, canvas))
  return lines.join('') + failures
}

/** Numbers of single layers stand below each other. */
function headOf(head: string, width: number): string {
  const [word = '', numbers = ''] = head.split(' ')
  return `${word} ${numbers.padStart(width - word.length - 1)}`
}

function stretchesOf(layers: readonly (readonly WorkflowNodeRecord[])[], most: number): readonly Stretch[] {
  const single = layers.map((nodes, at) => ({ first: at, last: at, nodes }))
  if (single.length <= most) return single
  const alike = gathered(single, (stretch, before) => standingOf(stretch) === standingOf(before))
  if (alike.length <= most) return alike
  const each = Math.ceil(alike.length / most)
  return gathered(alike, (_, __, at) => at % each !== 0)
}

/** Joins each to the one before it where `joins` says so. */
function gathered(
  stretches: readonly Stretch[],
  joins: (stretch: Stretch, before: Stretch, at: number) => boolean,
): readonly Stretch[] {
  const runs: Stretch[][] = []
  stretches.forEach((stretch, at) => {
    const before = stretches[at - 1]
    const run = runs.at(-1)
    if (run !== undefined && before !== undefined && joins(stretch, before, at)) run.push(stretch)
    else runs.push([stretch])
  })
  return runs.map((run) => ({
    first: run[0]?.first ?? 0,
    last: run.at(-1)?.last ?? 0,
    nodes: run.flatMap(({ nodes }) => nodes),
  }))
}

/** The statuses that occur in it. */
const standingOf = ({ nodes }: Stretch): string => [...countsOf(nodes).keys()].sort().join()

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

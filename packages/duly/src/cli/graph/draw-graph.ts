import type { WorkflowNodeRecord } from '@duly/sdk'
import { fit, padded, textWidth } from '../text-width.js'
import type { Canvas } from './canvas.js'
import { type Row, rowsOf } from './layers.js'
import { dyed, markOf } from './marks.js'
import { drawRails, lineGlyphs, MARK, plainGlyphs, type RailLine } from './rails.js'
import { sumUp } from './sum-up.js'
import { tellFailures } from './tell-failures.js'
import { tellMany, tellOne } from './tell-nodes.js'

/** Rows of a drawing; of a larger graph there is a summary. */
const MOST_ROWS = 300
/** Lines of a drawing below which what failed is named again: at its end is the cursor, and beside the rails there is little room. */
const LONG = 40
/** Longest name that others are lined up with. */
const LONGEST_NAME = 32

/**
 * Draws the tasks of a workflow from the top down, each below those that it waits for. Many that are alike share a line. Where rails would take
 * more than half of the screen, or there are too many lines, the layers are summed up on one screen, and what failed is named.
 */
export function drawGraph(graph: readonly WorkflowNodeRecord[], canvas: Canvas): string {
  const rows = rowsOf(graph)
  const most = Math.min(MOST_ROWS, canvas.height ?? MOST_ROWS)
  if (rows.length > most) return sumUp(rows, canvas)
  const glyphs = canvas.isPlain ? plainGlyphs : lineGlyphs
  const lines = drawRails(rows, { glyphs, maxColumns: Math.max(2, Math.floor(canvas.width / 4)) })
  if (lines === null || lines.length > (canvas.height ?? lines.length)) return sumUp(rows, canvas)
  const isLong = lines.length > LONG && canvas.height === undefined
  return withLabels(lines, rows, canvas) + (isLong ? tellFailures(graph, canvas) : '')
}

function withLabels(lines: readonly RailLine[], rows: readonly Row<WorkflowNodeRecord>[], canvas: Canvas): string {
  const railWidth = Math.max(...lines.map(({ rails }) => rails.length))
  const names = rows.map(nameOf)
  const nameWidth = Math.min(LONGEST_NAME, Math.max(...names.map(textWidth)))
  return lines
    .map(({ rails, row }) => {
      const shown = row === null ? undefined : rows[row]
      if (shown === undefined) return `${fit(rails, canvas.width)}\n`
      const label = padded(names[row ?? 0] ?? '', nameWidth)
      return lineOf({ rails: padded(rails, railWidth), label }, shown, canvas)
    })
    .join('')
}

function lineOf(
  { rails, label }: { readonly rails: string; readonly label: string },
  { nodes }: Row<WorkflowNodeRecord>,
  { width, now, hasColours, isPlain }: Canvas,
): string {
  const [node] = nodes
  if (node === undefined) return ''
  const told = nodes.length === 1 ? tellOne(node, now) : tellMany(nodes)
  const text = fit(`${rails} ${label}  ${told}`.trimEnd(), width)
  const mark = markOf(node.status, isPlain)
  return `${text.replace(MARK, hasColours ? dyed(mark, node.status) : mark)}\n`
}

/** `resize-1 … resize-50 (50)` for those that share a row. */
function nameOf({ nodes }: Row): string {
  const [first] = nodes
  const last = nodes.at(-1)
  return nodes.length === 1 ? (first?.name ?? '') : `${first?.name} … ${last?.name} (${nodes.length})`
}

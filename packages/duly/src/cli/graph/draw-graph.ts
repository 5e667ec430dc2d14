import type { TaskStatus, WorkflowNodeRecord } from '@duly/sdk'
import { cell } from '../table.js'
import { fit, padded, textWidth } from '../text-width.js'
import { type Row, rowsOf } from './layers.js'
import { dyed, markOf } from './marks.js'
import { drawRails, lineGlyphs, MARK, plainGlyphs, type RailLine } from './rails.js'

/** How a graph is drawn. */
export interface Canvas {
  readonly width: number
  /** Now, for what still runs. */
  readonly now: Date
  readonly hasColours: boolean
  /** Only ASCII can be shown. */
  readonly isPlain: boolean
}

/** Rows of a drawing; of a larger graph there is a summary. */
const MOST_ROWS = 300
/** Longest name that others are lined up with. */
const LONGEST_NAME = 32

/**
 * Draws the tasks of a workflow from the top down, each below those that it waits for. Many that are alike share a line. Where rails would take
 * more than half of the screen, or there are too many lines, the layers are summed up.
 */
export function drawGraph(graph: readonly WorkflowNodeRecord[], canvas: Canvas): string {
  const rows = rowsOf(graph)
  if (rows.length > MOST_ROWS) return sumUp(rows, canvas)
  const glyphs = canvas.isPlain ? plainGlyphs : lineGlyphs
  const lines = drawRails(rows, { glyphs, maxColumns: Math.max(2, Math.floor(canvas.width / 4)) })
  if (lines === null) return sumUp(rows, canvas)
  return withLabels(lines, rows, canvas)
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
  const told = nodes.length === 1 ? tellOne(node, now) : node.status
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

function tellOne(node: WorkflowNodeRecord, now: Date): string {
  const { status, startedAt, completedAt, dueAt, failures, error, reason, triggerRule } = node
  const took = startedAt === null ? null : tellMs((completedAt ?? now).getTime() - startedAt.getTime())
  const parts = [
    status,
    completedAt === null && status !== 'RUNNING' ? null : took,
    dueAt === null || completedAt !== null ? null : `due ${dueAt.toISOString()}`,
    failures > 0 ? `${failures} failed` : null,
    triggerRule === 'all_succeeded' ? null : triggerRule,
    error === null ? reason : `${error.class}: ${error.message}`,
  ]
  return parts.flatMap((part) => (part === null ? [] : [cell(part)])).join('  ')
}

/** A length of time in the unit that people would take. */
export function tellMs(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`
  const minutes = Math.round(ms / 60_000)
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** One line a layer: how many tasks of which status, and the name of one of them. */
function sumUp(rows: readonly Row<WorkflowNodeRecord>[], { width, hasColours, isPlain }: Canvas): string {
  const layers = new Map<number, WorkflowNodeRecord[]>()
  for (const { layer, nodes } of rows) layers.set(layer, [...(layers.get(layer) ?? []), ...nodes])
  const lines = [...layers].map(([layer, nodes]) => {
    const counts = [...countsOf(nodes)].map(([status, count]) => ({ status, text: `${count} ${status}` }))
    const head = `layer ${String(layer + 1).padStart(String(layers.size).length)}  `
    const names = nodes.length === 1 ? nodes[0]?.name : `${nodes[0]?.name} … ${nodes.at(-1)?.name}`
    const dye = (status: TaskStatus, text: string) => (hasColours ? dyed(text, status) : text)
    const told = counts.map(({ status, text }) => `${dye(status, markOf(status, isPlain))} ${text}`).join('  ')
    const plainWidth = textWidth(head) + counts.reduce((sum, { text }) => sum + 2 + textWidth(text) + 2, -2)
    const room = width - plainWidth - 2
    return `${head}${told}${room > 8 ? `  ${fit(names ?? '', room)}` : ''}\n`
  })
  return lines.join('')
}

function countsOf(nodes: readonly WorkflowNodeRecord[]): ReadonlyMap<TaskStatus, number> {
  const counts = new Map<TaskStatus, number>()
  for (const { status } of nodes) counts.set(status, (counts.get(status) ?? 0) + 1)
  return counts
}

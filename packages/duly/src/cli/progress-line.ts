import { type TaskStatus, taskStatuses } from '@duly/domain'
import type { BulkRecord, WorkflowRecord } from '@duly/sdk'
import type { Tally } from './tally.js'
import type { Terminal } from './terminal.js'

const BAR_WIDTH = 20
/** A redrawn line may be quick; lines in a log should stay few. */
const REDRAW_MS = 100
const LOG_LINE_MS = 1_000

/** E.g. `[██████··············] 312/1000 finished · 12 running · 640 pending · 36 retrying · 300 succeeded · 12 failed`. */
export function progressLine(tally: Pick<Tally, 'count' | 'finished'>, total: number): string {
  const counts = taskStatuses
    .filter(({ name }) => tally.count(name) > 0)
    .map(({ name }) => `${tally.count(name)} ${name.toLowerCase()}`)
  return [`${bar(tally.finished, total)} ${tally.finished}/${total} finished`, ...counts].join(' · ')
}

/** The same of the tasks of a workflow. */
export function workflowLine({ graph, nodes, open }: WorkflowRecord): string {
  const counts = new Map<TaskStatus, number>()
  for (const { status } of graph) counts.set(status, (counts.get(status) ?? 0) + 1)
  return progressLine({ count: (status) => counts.get(status) ?? 0, finished: nodes - open }, nodes)
}

/** The bar, full when nothing is left. Of an open one nobody knows where it ends: it is never full. */
function bar(done: number, total: number, isOpen = false): string {
  const width = isOpen ? BAR_WIDTH - 1 : BAR_WIDTH
  const filled = total === 0 && !isOpen ? width : Math.min(width, Math.floor((done / Math.max(1, total)) * width))
  return `[${'█'.repeat(filled)}${'·'.repeat(width - filled)}${isOpen ? '…' : ''}]`
}

/** How many tasks an operation will come to, as counted before it began: about so many, or more than so many. */
export interface ExpectedTasks {
  readonly count: number
  readonly isAtLeast: boolean
}

/**
 * E.g. `[██████··············] 312/1000 · 310 done · 2 skipped`, `[██████·············…] 3210 of more than 10000 · 3210 done`. Where
 * it does not fit, the bar goes first, then how many were skipped or failed.
 * @param expected null: nobody counted, and there is no bar
 * @param width columns that there are
 */
export function bulkLine(record: BulkRecord, expected: ExpectedTasks | null, width: number): string {
  const { status, matched, done, skipped, failed } = record
  const isOpen = expected?.isAtLeast === true && status !== 'SUCCEEDED'
  const total = status === 'SUCCEEDED' ? matched : Math.max(matched, expected?.count ?? 0)
  const ahead = expected === null ? `${matched} so far` : `${matched}${isOpen ? ' of more than ' : '/'}${total}`
  const end = status === 'RUNNING' ? [] : [status]
  const others = [...(skipped > 0 ? [`${skipped} skipped`] : []), ...(failed > 0 ? [`${failed} failed`] : [])]
  const plain = [ahead, `${done} done`, ...others, ...end].join(' · ')
  const whole = expected === null ? plain : `${bar(matched, total, isOpen)} ${plain}`
  return [whole, plain].find((line) => line.length <= width) ?? [ahead, ...end].join(' · ')
}

/** Shows a line while it changes: one line redrawn in place for a person, else a line each second. */
export class ProgressDisplay {
  #lastAt = Number.NEGATIVE_INFINITY
  #drawn = ''

  constructor(
    private readonly terminal: Terminal,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Shows the state if it is time again; `last` shows it in any case and ends the line. */
  show(tally: Tally, total: number, last = false): void {
    this.showLine(() => progressLine(tally, total), last)
  }

  /** The same of any line, which is told how wide it may be. */
  showLine(make: (width: number) => string, last = false): void {
    const interval = this.terminal.isInteractive ? REDRAW_MS : LOG_LINE_MS
    if (!last && this.now() - this.#lastAt < interval) return
    this.#lastAt = this.now()
    const line = make(this.terminal.isInteractive ? this.terminal.width - 1 : Number.POSITIVE_INFINITY)
    if (this.terminal.isInteractive) this.#redraw(line, last)
    else if (line !== this.#drawn) this.terminal.err(`${line}\n`)
    this.#drawn = line
  }

  /** Tells something beside it: in place of the line, which is drawn anew below. */
  note(text: string): void {
    this.terminal.err(this.terminal.isInteractive ? `\r\u001b[2K${text}` : text)
  }

  #redraw(line: string, last: boolean): void {
    // A line longer than the screen would wrap, and redrawing would leave its first row behind.
    this.terminal.err(`\r\u001b[2K${line.slice(0, this.terminal.width - 1)}${last ? '\n' : ''}`)
  }
}

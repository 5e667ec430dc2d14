import { LogHistogram } from '@duly/domain'
import type { StatsKind, StatsRow, StatsSums } from '../store/stats-store.js'
import { otherName, statsCounts } from '../store/stats-store.js'

/** Names of one kind that one minute of one node keeps apart; what comes beyond them is summed up under one name. */
export const namesPerMinute = 200

/** Where a task belongs. */
export interface Place {
  readonly queue: string
  readonly taskType: string
  readonly tenant: string
}

/** The figures of one name in one minute. */
export class Cell {
  readonly counts: StatsSums = Object.fromEntries(statsCounts.map((name) => [name, 0])) as StatsSums
  readonly wait = new LogHistogram()
  readonly run = new LogHistogram()
  /** Changed since it was last written. */
  isDirty = false
}

const kinds = ['queue', 'task_type', 'tenant'] as const

/** The cells that a task counts in: of all, of its queue, its task type and its tenant. */
type Cells = readonly [Cell, Cell, Cell, Cell]

/** What happened in one minute, bounded by `namesPerMinute`. */
export class Minute {
  readonly startMs: number
  readonly #all = new Cell()
  readonly #cells: Readonly<Record<(typeof kinds)[number], Map<string, Cell>>> = {
    queue: new Map(),
    task_type: new Map(),
    tenant: new Map(),
  }
  /** The last place: the tasks of a batch mostly share one. */
  #place: Place = { queue: '', taskType: '', tenant: '' }
  #placeCells: Cells | null = null

  constructor(startMs: number) {
    this.startMs = startMs
  }

  count(place: Place, name: keyof StatsSums): void {
    for (const cell of this.#cellsOf(place)) {
      cell.counts[name]++
      cell.isDirty = true
    }
  }

  /** Beside `count`: how long a task that started had waited, or one that ended had run. */
  measure(place: Place, what: 'wait' | 'run', ms: number): void {
    for (const cell of this.#cellsOf(place)) cell[what].add(ms)
  }

  get isDirty(): boolean {
    return this.#all.isDirty
  }

  /** Takes the changed cells as rows; they count as written. `again` takes that back. */
  take(): { readonly rows: StatsRow[]; readonly again: () => void } {
    const taken = [...this.#entries()].filter(([, , cell]) => cell.isDirty)
    const rows = taken.map(([kind, name, cell]) => {
      cell.isDirty = false
      const { startMs } = this
      return { kind, name, startMs, ...cell.counts, wait: cell.wait.encode(), run: cell.run.encode() }
    })
    const again = (): void => {
      for (const [, , cell] of taken) cell.isDirty = true
    }
    return { rows, again }
  }

  *#entries(): Generator<readonly [StatsKind, string, Cell]> {
    yield ['all', '', this.#all]
    for (const kind of kinds) for (const [name, cell] of this.#cells[kind]) yield [kind, name, cell]
  }

  #cellsOf(place: Place): Cells {
    const last = this.#place
    if (
      this.#placeCells !== null &&
      last.queue === place.queue &&
      last.taskType === place.taskType &&
      last.tenant === place.tenant
    ) {
      return this.#placeCells
    }
    const { queue, taskType, tenant } = place
    this.#place = { queue, taskType, tenant }
    this.#placeCells = [
      this.#all,
      this.#cellOf('queue', queue),
      this.#cellOf('task_type', taskType),
      this.#cellOf('tenant', tenant),
    ]
    return this.#placeCells
  }

  #cellOf(kind: (typeof kinds)[number], name: string): Cell {
    const cells = this.#cells[kind]
    const known = cells.get(name)
    if (known) return known
    if (cells.size >= namesPerMinute && name !== otherName) return this.#cellOf(kind, otherName)
    const cell = new Cell()
    cells.set(name, cell)
    return cell
  }
}

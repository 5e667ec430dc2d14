import { LogHistogram } from '@duly/domain'
import type { StatsKind, StatsRow, StatsSums } from '../store/stats-store.js'
import { laneName, otherName, statsCounts } from '../store/stats-store.js'

/** Names of one kind that one minute of one node keeps apart; what comes beyond them is summed up under one name. */
export const namesPerMinute = 200

const minuteMs = 60_000

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
  /** When in its minute the first start came. */
  firstMs: number | null = null
  /** Changed since it was last written. */
  isDirty = false
}

const kinds = ['queue', 'task_type', 'tenant', 'lane'] as const

/** The cells that a task counts in: of all, of its queue, its task type and its tenant. */
type Cells = readonly [Cell, Cell, Cell, Cell]

/** What happened in one minute, bounded by `namesPerMinute`. */
export class Minute {
  readonly startMs: number
  readonly #all = new Cell()
  /** The latest instant that somebody counted at. */
  atMs: number
  readonly #cells: Readonly<Record<(typeof kinds)[number], Map<string, Cell>>> = {
    lane: new Map(),
    queue: new Map(),
    task_type: new Map(),
    tenant: new Map(),
  }
  /** The last place: the tasks of a batch mostly share one. */
  #place: Place = { queue: '', taskType: '', tenant: '' }
  #placeCells: Cells | null = null
  #laneCell: Cell | null = null

  constructor(startMs: number) {
    this.startMs = startMs
    this.atMs = startMs
  }

  count(place: Place, name: keyof StatsSums): void {
    for (const cell of this.#cellsOf(place)) {
      cell.counts[name]++
      cell.isDirty = true
    }
    if (name === 'started') this.#start(place)
  }

  /** Beside `count`: how long a task that started had waited, or one that ended had run. */
  measure(place: Place, what: 'wait' | 'run', ms: number): void {
    for (const cell of this.#cellsOf(place)) cell[what].add(ms)
  }

  get isDirty(): boolean {
    return this.#all.isDirty
  }

  /** Takes the changed cells as rows, counted until an instant; they count as written. `again` takes that back. */
  take(nowMs: number): { readonly rows: StatsRow[]; readonly again: () => void } {
    const taken = [...this.#entries()].filter(([, , cell]) => cell.isDirty)
    const untilMs = Math.round(Math.min(minuteMs, Math.max(0, nowMs - this.startMs)))
    const rows = taken.map(([kind, name, cell]) => {
      cell.isDirty = false
      const { startMs } = this
      const { counts, firstMs } = cell
      return { kind, name, startMs, ...counts, wait: cell.wait.encode(), run: cell.run.encode(), firstMs, untilMs }
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
    this.#laneCell = null
    this.#placeCells = [
      this.#all,
      this.#cellOf('queue', queue),
      this.#cellOf('task_type', taskType),
      this.#cellOf('tenant', tenant),
    ]
    return this.#placeCells
  }

  /** After the cells of the place were found. A lane's starts alone are counted: whoever is bound to a tenant may know those. */
  #start({ queue, tenant }: Place): void {
    this.#laneCell ??= this.#cellOf('lane', laneName(queue, tenant))
    const lane = this.#laneCell
    lane.counts.started++
    lane.isDirty = true
    const ofQueue = this.#placeCells?.[1]
    const firstMs = Math.round(this.atMs - this.startMs)
    lane.firstMs ??= firstMs
    if (ofQueue) ofQueue.firstMs ??= firstMs
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

import { isOpen, type TaskStatus, taskStatuses } from '@duly/domain'

/** Counts the tasks of one submission by where they stand, from what is learnt about each. Pure bookkeeping. */
export class Tally {
  readonly #statusOf = new Map<string, TaskStatus>()
  readonly #counts = new Map<TaskStatus, number>()
  readonly #open = new Set<string>()

  /** @param expected how many tasks there will be in the end; those not heard of yet are still to be submitted */
  constructor(readonly expected: number) {}

  /** Notes a task's status. The same task may be noted again and again; a task that two lines share (one key) counts once. */
  note(id: string, status: TaskStatus): void {
    const before = this.#statusOf.get(id)
    if (before === status) return
    if (before !== undefined) this.#add(before, -1)
    this.#add(status, 1)
    this.#statusOf.set(id, status)
    if (!isOpen(status)) this.#open.delete(id)
    else if (before === undefined || !isOpen(before)) this.#open.add(id)
  }

  /** Puts an open task behind all the others. */
  toBack(id: string): void {
    if (this.#open.delete(id)) this.#open.add(id)
  }

  #add(status: TaskStatus, change: number): void {
    this.#counts.set(status, this.count(status) + change)
  }

  count(status: TaskStatus): number {
    return this.#counts.get(status) ?? 0
  }

  /** Tasks heard of. */
  get known(): number {
    return this.#statusOf.size
  }

  /** Tasks that have ended. */
  get finished(): number {
    return this.known - this.#open.size
  }

  /** Ids of the tasks that have not ended: as they were noted first, but for those put to the back. */
  get open(): ReadonlySet<string> {
    return this.#open
  }

  /** Counts by status, in the order of a life; only what there is. */
  counts(): Readonly<Partial<Record<TaskStatus, number>>> {
    const present = taskStatuses.filter(({ name }) => this.count(name) > 0)
    return Object.fromEntries(present.map(({ name }) => [name, this.count(name)]))
  }
}

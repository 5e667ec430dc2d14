import { DulyError } from '@duly/domain'
import type { NewTask } from '../model.js'
import type { IntakeStore } from '../store/intake-store.js'

/** Queues and task types come into being at first use, up to a limit of each. Known names cost one look in a set. */
export class Names {
  readonly #store: IntakeStore
  readonly #limit: number
  readonly #queues = new Set<string>()
  readonly #types = new Set<string>()

  constructor(store: IntakeStore, options: { limit: number }) {
    this.#store = store
    this.#limit = options.limit
  }

  isKnown(task: NewTask): boolean {
    return this.#queues.has(task.queue) && this.#types.has(task.taskType)
  }

  /** Rejects with `unprocessable` when a name is new and the deployment has as many as it may. */
  ensure(tasks: readonly NewTask[]): Promise<void> {
    return this.#ensure(
      tasks.map((task) => task.queue),
      tasks.map((task) => task.taskType),
    )
  }

  /** The same for the queue that a task is moved to. */
  ensureQueue(queue: string): Promise<void> {
    return this.#ensure([queue], [])
  }

  async #ensure(queueNames: readonly string[], typeNames: readonly string[]): Promise<void> {
    const queues = fresh(queueNames, this.#queues)
    const types = fresh(typeNames, this.#types)
    if (queues.length === 0 && types.length === 0) return
    const known = await this.#store.registerNames(queues, types, this.#limit)
    for (const queue of known.queues) this.#queues.add(queue)
    for (const type of known.types) this.#types.add(type)
    const queue = queues.find((name) => !this.#queues.has(name))
    const type = types.find((name) => !this.#types.has(name))
    if (queue === undefined && type === undefined) return
    const what = queue === undefined ? `task type ${type}` : `queue ${queue}`
    throw new DulyError('unprocessable', `The ${what} is new, and the deployment has its ${this.#limit} already.`)
  }
}

function fresh(names: readonly string[], known: ReadonlySet<string>): string[] {
  return [...new Set(names)].filter((name) => !known.has(name))
}

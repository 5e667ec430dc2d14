import { DulyError, type TenantScope } from '@duly/domain'
import type { NewTask } from '../model.js'
import type { IntakeStore } from '../store/intake-store.js'

export interface NamesOptions {
  /** Queues, and task types, that a deployment may have. */
  readonly limit: number
  /** Those of each that keys bound to one tenant may bring along: they last, so one tenant must not use up the names of all. */
  readonly share: number
}

/** Queues and task types come into being at first use, up to a limit of each. Known names cost one look in a set. */
export class Names {
  readonly #store: IntakeStore
  readonly #options: NamesOptions
  readonly #queues = new Set<string>()
  readonly #types = new Set<string>()

  constructor(store: IntakeStore, options: NamesOptions) {
    this.#store = store
    this.#options = options
  }

  isKnown(task: NewTask): boolean {
    return this.#queues.has(task.queue) && this.#types.has(task.taskType)
  }

  /** For tasks of one caller. Rejects with `unprocessable` when a name is new and there are as many as there may be. */
  ensure(tasks: readonly Pick<NewTask, 'queue' | 'taskType' | 'boundTo'>[]): Promise<void> {
    return this.#ensure({
      queues: tasks.map((task) => task.queue),
      types: tasks.map((task) => task.taskType),
      tenant: tasks[0]?.boundTo ?? null,
    })
  }

  /** The same for the queue that a task is moved to. */
  ensureQueue(queue: string, tenant: TenantScope): Promise<void> {
    return this.#ensure({ queues: [queue], types: [], tenant })
  }

  async #ensure({ tenant, ...names }: Wanted): Promise<void> {
    const queues = fresh(names.queues, this.#queues)
    const types = fresh(names.types, this.#types)
    if (queues.length === 0 && types.length === 0) return
    const known = await this.#store.registerNames(queues, types, { ...this.#options, tenant })
    for (const queue of known.queues) this.#queues.add(queue)
    for (const type of known.types) this.#types.add(type)
    const queue = queues.find((name) => !this.#queues.has(name))
    const type = types.find((name) => !this.#types.has(name))
    if (queue === undefined && type === undefined) return
    const what = queue === undefined ? `task type ${type}` : `queue ${queue}`
    throw new DulyError(
      'unprocessable',
      `The ${what} is new, and ${this.#bound(tenant)} already. Use one that there is.`,
    )
  }

  #bound(tenant: TenantScope): string {
    const { limit, share } = this.#options
    const all = `the deployment has its ${limit}`
    return tenant === null ? all : `keys of ${tenant} have brought their ${share}, or ${all}`
  }
}

interface Wanted {
  readonly queues: readonly string[]
  readonly types: readonly string[]
  /** What the caller's key is bound to. */
  readonly tenant: TenantScope
}

function fresh(names: readonly string[], known: ReadonlySet<string>): string[] {
  return [...new Set(names)].filter((name) => !known.has(name))
}

import { DulyError, type TenantScope } from '@duly/domain'
import type { NewTask } from '../model.js'
import type { IntakeStore } from '../store/intake-store.js'

export interface NamesOptions {
  /** Queues, and task types, that a deployment may have. */
  readonly limit: number
  /** Those of each that keys bound to one tenant may use: they last, so one tenant must not use up the names of all. */
  readonly share: number
}

/** Pairs of tenant and name of a kind that are kept in memory, some 100 bytes each; the oldest is asked for again. */
const maxKnown = 200_000

/**
 * Queues and task types come into being at first use, up to a limit of each. A key that is bound to a tenant pays for each name that
 * its tenant uses first, whoever brought it: were those of others free, an answer would tell which there are. Known pairs of
 * tenant and name cost one look in a set.
 */
export class Names {
  readonly #store: IntakeStore
  readonly #options: NamesOptions
  readonly #queues = new Set<string>()
  readonly #types = new Set<string>()

  constructor(store: IntakeStore, options: NamesOptions) {
    this.#store = store
    this.#options = options
  }

  isKnown({ queue, taskType, boundTo = null }: NewTask): boolean {
    return this.#queues.has(pairOf(boundTo, queue)) && this.#types.has(pairOf(boundTo, taskType))
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
    const isFresh = (known: ReadonlySet<string>) => (name: string) => !known.has(pairOf(tenant, name))
    const queues = [...new Set(names.queues)].filter(isFresh(this.#queues))
    const types = [...new Set(names.types)].filter(isFresh(this.#types))
    if (queues.length === 0 && types.length === 0) return
    const known = await this.#store.registerNames(queues, types, { ...this.#options, tenant })
    for (const queue of known.queues) keep(this.#queues, pairOf(tenant, queue))
    for (const type of known.types) keep(this.#types, pairOf(tenant, type))
    const [queue] = without(queues, known.queues)
    const [type] = without(types, known.types)
    if (queue === undefined && type === undefined) return
    const what = queue === undefined ? `task type ${type}` : `queue ${queue}`
    throw new DulyError(
      'unprocessable',
      `The ${what} is new${this.#bound(tenant)} already. Use one that you used before.`,
    )
  }

  #bound(tenant: TenantScope): string {
    const { limit, share } = this.#options
    const all = `the deployment has its ${limit}`
    return tenant === null ? `, and ${all}` : ` to keys of ${tenant}, and they use their ${share}, or ${all}`
  }
}

interface Wanted {
  readonly queues: readonly string[]
  readonly types: readonly string[]
  /** What the caller's key is bound to. */
  readonly tenant: TenantScope
}

/** A line break is in no name. */
const pairOf = (tenant: TenantScope, name: string): string => (tenant === null ? name : `${tenant}\n${name}`)

function keep(known: Set<string>, pair: string): void {
  const [oldest] = known
  if (known.size >= maxKnown && oldest !== undefined) known.delete(oldest)
  known.add(pair)
}

function without(names: readonly string[], known: readonly string[]): string[] {
  const found = new Set(known)
  return names.filter((name) => !found.has(name))
}

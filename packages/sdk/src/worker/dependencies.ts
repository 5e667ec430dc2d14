import type { TaskStatus } from '../client/records.js'
import type { DependencyDefinitions, NoDependencies, ResultOf, ResultType } from '../define-task.js'
import { InvalidResultError, NoResultError } from '../errors.js'
import { validate } from '../standard-schema.js'
import type { Attempt } from './attempt.js'
import type { WireDependencyResults } from './wire.js'

/** What a task of a workflow knows of those that it waited for. */
export interface Dependencies<Declared extends DependencyDefinitions = NoDependencies> {
  /** How those that have ended did, by their names in the workflow. */
  readonly statuses: ReadonlyMap<string, TaskStatus>
  /**
   * The result of one of them, decoded by its definition: the one that this task's definition names, or the one given. What did not come
   * along with the task is fetched; calls of one turn travel together.
   *
   * @throws NoResultError when it did not succeed; InvalidResultError; RangeError when there is no such dependency; LeaseLostError
   */
  result<Name extends keyof Declared & string>(name: Name): Promise<ResultOf<Declared[Name]>>
  result<Result>(name: string, task: ResultType<Result>): Promise<Result>
  result(name: string): Promise<unknown>
  /** The results of all that succeeded, some at a time, so that thousands of large ones need not fit into memory. */
  results<Result = unknown>(task?: ResultType<Result>): AsyncGenerator<readonly [name: string, result: Result], void>
}

/** Fetches results that did not come along. */
export type FetchResults = (names: readonly string[]) => Promise<WireDependencyResults>

/** Results that are fetched ahead of whoever goes through all of them. */
const AHEAD = 16

/** Names that one call takes. */
const NAMES_PER_CALL = 100

/** Reads through to the grant; what that left out is fetched when it is asked for. */
export class AttemptDependencies implements Dependencies {
  readonly #attempt: Attempt
  readonly #fetcher: ResultFetcher
  #statuses: ReadonlyMap<string, TaskStatus> | null = null

  constructor(attempt: Attempt, fetch: FetchResults) {
    this.#attempt = attempt
    this.#fetcher = new ResultFetcher(fetch)
  }

  get statuses(): ReadonlyMap<string, TaskStatus> {
    const { dependency_statuses: statuses = {} } = this.#attempt.grant
    this.#statuses ??= new Map(Object.entries(statuses))
    return this.#statuses
  }

  async result<Result>(name: string, task?: ResultType<Result>): Promise<Result> {
    const status = this.statuses.get(name)
    const { dependencies } = this.#attempt.registered.definition
    const declared = Object.hasOwn(dependencies, name) ? (dependencies as DependencyDefinitions)[name] : undefined
    if (status === undefined && declared === undefined) throw this.#unknown(name)
    if (status !== 'SUCCEEDED') throw new NoResultError(name, status ?? null)
    const value = await this.#valueOf(name)
    return decode(value, name, (task ?? declared) as ResultType<Result> | undefined)
  }

  async *results<Result = unknown>(task?: ResultType<Result>): AsyncGenerator<readonly [string, Result], void> {
    const names = [...this.statuses].flatMap(([name, status]) => (status === 'SUCCEEDED' ? [name] : []))
    for (let from = 0; from < names.length; from += AHEAD) {
      const some = names.slice(from, from + AHEAD)
      const values = await Promise.all(some.map((name) => this.#valueOf(name)))
      for (const [index, name] of some.entries()) yield [name, await decode(values[index], name, task)]
    }
  }

  #valueOf(name: string): unknown {
    const { dependency_results: results = {} } = this.#attempt.grant
    return Object.hasOwn(results, name) ? results[name] : this.#fetcher.fetch(name)
  }

  #unknown(name: string): RangeError {
    const names = [...this.statuses.keys()]
    const known = names.length === 0 ? 'it has none' : `they are ${names.slice(0, 10).join(', ')}`
    return new RangeError(`${JSON.stringify(name)} is none of the dependencies that have ended; ${known}`)
  }
}

async function decode<Result>(value: unknown, name: string, task: ResultType<Result> | undefined): Promise<Result> {
  const checked = await validate(task?.result, value)
  if (checked.issues !== undefined) throw new InvalidResultError(task?.type ?? name, checked.issues)
  return checked.value
}

interface Waiting {
  readonly name: string
  readonly found: (value: unknown) => void
  readonly failed: (error: unknown) => void
}

/** Gathers the names that are asked for in one turn, and fetches them by as few calls as it takes. */
class ResultFetcher {
  readonly #fetch: FetchResults
  #waiting: Waiting[] = []

  constructor(fetch: FetchResults) {
    this.#fetch = fetch
  }

  fetch(name: string): Promise<unknown> {
    return new Promise((found, failed) => {
      if (this.#waiting.push({ name, found, failed }) === 1) queueMicrotask(() => void this.#flush())
    })
  }

  async #flush(): Promise<void> {
    let left = this.#waiting
    this.#waiting = []
    try {
      while (left.length > 0) left = await this.#some(left)
    } catch (error) {
      for (const { failed } of left) failed(error)
    }
  }

  /** One call; who still waits after it. */
  async #some(waiting: Waiting[]): Promise<Waiting[]> {
    const names = [...new Set(waiting.map(({ name }) => name))].slice(0, NAMES_PER_CALL)
    const { results } = await this.#fetch(names)
    const left = waiting.filter(({ name, found }) => {
      if (!Object.hasOwn(results, name)) return true
      found(results[name])
      return false
    })
    if (left.length === waiting.length) throw new Error(`the server gave no result of ${names.join(', ')}`)
    return left
  }
}

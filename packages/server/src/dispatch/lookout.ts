import { gates, type Lane } from '@duly/domain'
import type { ReadyQueue } from '../queue/port.js'
import type { LaneDirectory } from './lane-directory.js'
import type { Profile } from './profile.js'

export interface LookoutOptions {
  readonly queue: ReadyQueue
  readonly directory: LaneDirectory
  /** These queues were looked at, and the directory knows what was found. */
  readonly onLooked: (queues: ReadonlySet<string>) => void
}

const laneLimit = 10_000
const setAsideLimit = 1_000
/** So many times a look at most. */
const setAsideRounds = 10

/** Looks at the ready queue for lanes that no hint told of, and clears what nobody serves out of the way. */
export class Lookout {
  readonly #options: LookoutOptions
  /** Queues that were looked at, and no word of them went unheeded since. */
  readonly #known = new Set<string>()
  /** Queues from which nothing starts, as of the last look: a claim would be for nothing. Only the claim itself decides. */
  readonly #paused = new Set<string>()
  readonly #looking = new Map<string, Promise<void>>()

  constructor(options: LookoutOptions) {
    this.#options = options
  }

  /** Whether the directory can be trusted about this queue: one not looked at may have a backlog that nobody told of. */
  knows(queue: string): boolean {
    return this.#known.has(queue)
  }

  isPaused(queue: string): boolean {
    return this.#paused.has(queue)
  }

  /** Looks at those of the queues that are not known. */
  async know(queues: readonly string[]): Promise<void> {
    const unknown = queues.filter((queue) => !this.#known.has(queue))
    if (unknown.length === 0) return
    const fresh = unknown.filter((queue) => !this.#looking.has(queue))
    const look = this.lookAt(fresh).finally(() => {
      for (const queue of fresh) this.#looking.delete(queue)
    })
    for (const queue of fresh) this.#looking.set(queue, look)
    await Promise.all(unknown.map((queue) => this.#looking.get(queue)))
  }

  /** Other nodes' word of these queues went unheeded. */
  forget(queues: Iterable<string>): void {
    for (const queue of queues) {
      this.#known.delete(queue)
      this.#paused.delete(queue)
    }
  }

  /** The slow look, for whoever waits now; queues that nobody waits for are known no longer. */
  async look(profiles: readonly Profile[]): Promise<void> {
    const queues = new Set(profiles.flatMap((profile) => profile.queues))
    await this.lookAt([...queues])
    this.forget([...this.#known].filter((queue) => !queues.has(queue)))
    for (const profile of profiles) await this.#clearFor(profile)
  }

  async lookAt(queues: readonly string[]): Promise<void> {
    if (queues.length === 0) return
    const { queue, directory, onLooked } = this.#options
    const version = directory.version
    const { lanes, paused } = await queue.lanes(queues, laneLimit).catch((error: unknown) => {
      // nothing is known of them until a look succeeds, and who asks at once hears why
      this.forget(queues)
      throw error
    })
    for (const name of queues) this.#paused.delete(name)
    for (const name of paused) this.#paused.add(name)
    directory.replace(queues, lanes, version)
    for (const name of paused) directory.forget(name)
    for (const name of queues) this.#known.add(name)
    onLooked(new Set(queues))
  }

  /** Lanes that a filtered take left short though they have tasks: tasks that these workers do not serve are in the way. */
  async #clearFor(profile: Profile): Promise<void> {
    for (const lane of this.#options.directory.takeShort(profile)) {
      // others here may serve what was moved
      if (lane.gate === gates.none && (await this.#clear(lane, profile)) > 0) await this.lookAt([lane.queue])
    }
  }

  async #clear(lane: Lane, profile: Profile): Promise<number> {
    let moved = 0
    for (let round = 0; round < setAsideRounds; round++) {
      const count = await this.#options.queue.setAside(lane, profile.taskTypes, setAsideLimit)
      moved += count
      if (count < setAsideLimit) break
    }
    return moved
  }
}

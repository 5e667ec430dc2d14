import { encodeId, gates, type Lane, type Uuid } from '@duly/domain'

/** What a worker serves. Sessions that serve the same share one profile, so that one claim serves all their polls. */
export class Profile {
  readonly key: string
  readonly queues: readonly string[]
  readonly taskTypes: readonly string[]
  /** Only this tenant's lanes; null: all. */
  readonly tenant: string | null
  readonly #queues: ReadonlySet<string>
  readonly #taskTypes: ReadonlySet<string>

  constructor(served: { queues: readonly string[]; taskTypes: readonly string[]; tenant: string | null }) {
    this.queues = [...new Set(served.queues)].sort()
    this.taskTypes = [...new Set(served.taskTypes)].sort()
    this.tenant = served.tenant
    this.#queues = new Set(this.queues)
    this.#taskTypes = new Set(this.taskTypes)
    this.key = JSON.stringify([this.queues, this.taskTypes, this.tenant])
  }

  /** A task that could be handed to a worker of this profile. */
  serves(task: { queue: string; taskType: string; tenant: string }): boolean {
    return (
      this.#queues.has(task.queue) &&
      this.#taskTypes.has(task.taskType) &&
      (this.tenant === null || this.tenant === task.tenant)
    )
  }

  /** A lane that may hold tasks for this profile: a gate is empty, one of ours, or a type that it serves. */
  mayTake(lane: Lane): boolean {
    if (!this.#queues.has(lane.queue) || (this.tenant !== null && this.tenant !== lane.tenant)) return false
    return (
      lane.gate === gates.none ||
      lane.gate === gates.suspect ||
      lane.gate === gates.overflow ||
      this.#taskTypes.has(lane.gate)
    )
  }
}

/** The profiles of a node's sessions, one for all that serve the same. */
export class Profiles {
  readonly #limit: number
  readonly #byKey = new Map<string, Profile>()

  /** @param limit profiles that are kept; beyond, all are forgotten, and sessions from then on share new ones. */
  constructor(limit: number) {
    this.#limit = limit
  }

  of(served: { queues: readonly string[]; taskTypes: readonly string[]; tenant: string | null }): Profile {
    const profile = new Profile(served)
    const shared = this.#byKey.get(profile.key)
    if (shared) return shared
    if (this.#byKey.size >= this.#limit) this.#byKey.clear()
    this.#byKey.set(profile.key, profile)
    return profile
  }
}

/** Names a worker's session in the trail, as the API names it. */
export const sessionActor = (session: Uuid): string => encodeId('worker', session)

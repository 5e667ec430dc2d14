import type { Profile } from './profile.js'
import type { SessionState } from './session-state.js'

/** Sessions with an open poll, by what they serve; of those that serve the same, the next task goes to the first. */
export class Waiting {
  readonly #byProfile = new Map<Profile, Set<SessionState>>()

  add(state: SessionState): void {
    const waiting = this.#byProfile.get(state.profile) ?? new Set()
    this.#byProfile.set(state.profile, waiting.add(state))
  }

  has(state: SessionState): boolean {
    return this.#byProfile.get(state.profile)?.has(state) ?? false
  }

  remove(state: SessionState): void {
    this.#byProfile.get(state.profile)?.delete(state)
  }

  /** Puts it behind the others, if it waits. */
  moveBack(state: SessionState): void {
    const waiting = this.#byProfile.get(state.profile)
    if (waiting?.delete(state)) waiting.add(state)
  }

  /** Those of a profile that have a slot free. */
  free(profile: Profile): SessionState[] {
    return [...(this.#byProfile.get(profile) ?? [])].filter((state) => state.free > 0)
  }

  /** The first with a free slot whose profile the predicate takes. */
  find(suits: (profile: Profile) => boolean): SessionState | undefined {
    for (const [profile, waiting] of this.#byProfile) {
      if (waiting.size === 0 || !suits(profile)) continue
      for (const state of waiting) if (state.free > 0) return state
    }
    return undefined
  }

  isAny(): boolean {
    return !this.profiles().next().done
  }

  all(): SessionState[] {
    return [...this.#byProfile.values()].flatMap((waiting) => [...waiting])
  }

  /** What somebody waits for. */
  *profiles(): Generator<Profile> {
    for (const [profile, waiting] of this.#byProfile) {
      if (waiting.size > 0) yield profile
      else this.#byProfile.delete(profile)
    }
  }
}

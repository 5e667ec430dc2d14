import type { Lane } from '../lane.js'
import type { LaneGrant, LaneOffer, LaneSelector } from '../selection.js'

/** A lane that differs from the usual one in these parts. */
export function lane(part: Partial<Lane>): Lane {
  return { queue: 'q', priority: 2, tenant: 't', gate: '', ...part }
}

/** An offer of such a lane, by default with more tasks than any test starts. */
export function offer(part: Partial<Lane>, available = 1_000_000): LaneOffer {
  return { lane: lane(part), available }
}

/** The starts of a selection. */
export function total(grants: readonly LaneGrant[]): number {
  return grants.reduce((sum, { count }) => sum + count, 0)
}

/** The starts that a selection gives to a tenant. */
export function startsOf(tenant: string, grants: readonly LaneGrant[]): number {
  return total(grants.filter((grant) => grant.lane.tenant === tenant))
}

/** Selects one slot at a time and names each start by `label`. */
export function trail(
  selector: LaneSelector,
  offers: readonly LaneOffer[],
  starts: number,
  label: (lane: Lane) => string = ({ tenant }) => tenant,
): string[] {
  return Array.from({ length: starts }, () => selector.select(offers, 1).map((grant) => label(grant.lane))[0] ?? 'none')
}

/** The smallest and the largest number of times that the label occurs in any window of the trail. */
export function windowRange(names: readonly string[], label: string, width: number): { least: number; most: number } {
  let inside = 0
  let least = Number.POSITIVE_INFINITY
  let most = 0
  for (const [index, name] of names.entries()) {
    if (name === label) inside++
    if (index >= width && names[index - width] === label) inside--
    if (index >= width - 1) {
      least = Math.min(least, inside)
      most = Math.max(most, inside)
    }
  }
  return { least, most }
}

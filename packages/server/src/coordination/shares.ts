import type { Uuid } from '@duly/domain'
import type { Seat } from '../store/leader-store.js'

/** What one node is to do about the seats. */
export interface Move {
  /** Free or left by the dead: the node may have these. */
  readonly take: readonly Seat[]
  /** The node has more than its share: it gives these up. */
  readonly give: readonly number[]
}

/**
 * What a node does towards an even spread: P partitions over n nodes, ⌊P/n⌋ or ⌈P/n⌉ each. The larger shares go to those who
 * hold the most, then to the lower numbers, so that no more moves than must. What is above the share is given up, at most
 * `most` at a time; what is below is taken at once from the free and the dead, each node beginning at another place so that
 * two seldom want the same one. Every node can judge this by itself: where two see different tables, the epochs decide.
 *
 * @param nodes those that live, by their numbers; a node that is not among them does nothing
 */
export function planMove(me: Uuid, nodes: readonly Uuid[], seats: readonly Seat[], most: number): Move {
  const rank = nodes.indexOf(me)
  if (rank < 0) return { take: [], give: [] }
  const held = new Map<Uuid, number>(nodes.map((node) => [node, 0]))
  const vacant: Seat[] = []
  for (const seat of seats) {
    const count = seat.leader === null ? undefined : held.get(seat.leader)
    if (seat.leader === null || count === undefined) vacant.push(seat)
    else held.set(seat.leader, count + 1)
  }
  const mine = held.get(me) ?? 0
  const surplus = mine - shareOf(me, nodes, { held, seats: seats.length })
  if (surplus < 0) {
    const from = Math.floor((rank * vacant.length) / nodes.length)
    return { take: [...vacant.slice(from), ...vacant.slice(0, from)].slice(0, -surplus), give: [] }
  }
  const give = seats.filter(({ leader }) => leader === me).map(({ partition }) => partition)
  return { take: [], give: give.slice(give.length - Math.min(surplus, most)) }
}

interface Spread {
  readonly held: ReadonlyMap<Uuid, number>
  readonly seats: number
}

function shareOf(me: Uuid, nodes: readonly Uuid[], { held, seats }: Spread): number {
  const byHolding = [...nodes].sort((a, b) => (held.get(b) ?? 0) - (held.get(a) ?? 0))
  const larger = seats % nodes.length
  return Math.floor(seats / nodes.length) + (byHolding.indexOf(me) < larger ? 1 : 0)
}

import type { Parents } from './order.js'

/**
 * When a node was judged to run, started (its last attempt) and ended, epoch ms. One that waits for others, was skipped, or failed for its
 * dependencies, was not judged to run.
 */
export interface TimedNode {
  readonly triggeredAtMs: number | null
  readonly startedAtMs: number | null
  readonly completedAtMs: number | null
  /** The node that added it while it ran. */
  readonly adder?: number | null
}

/** The chain that the time of a workflow went by, first node first. `durationMs` null: its time has not begun. */
export interface CriticalPath {
  readonly nodes: readonly number[]
  readonly durationMs: number | null
}

/**
 * The longest chain by time, where each node takes from the end of its last parent to its own end, waiting for a worker, for its own time or
 * for a retry included. Since the last parent is what a node waited for, it is found backwards: from what ended last (of what is still to
 * end and waits for no other node, from what has been so longest) to the parent that it waited for, and so on. Parents that ended only
 * after the node was judged to run held nothing up, also when an attempt of it began later; of one that waits for nothing, but was added by a
 * node that ran, it was that node. Linear time.
 *
 * @param beganAtMs when the first nodes could start; @param nowMs by the same clock, stands in for the ends of what has not ended
 */
export function criticalPath(
  nodes: readonly TimedNode[],
  parents: Parents,
  { beganAtMs, nowMs }: { readonly beganAtMs: number; readonly nowMs: number },
): CriticalPath {
  const ends = nodes.map(({ triggeredAtMs, completedAtMs }) => completedAtMs ?? (triggeredAtMs === null ? null : nowMs))
  const last = lastOf(nodes, ends, beganAtMs)
  if (last === null) return { nodes: [], durationMs: null }
  const path: number[] = []
  for (let node: number | null = last; node !== null; ) {
    path.push(node)
    const { triggeredAtMs = null, completedAtMs = null, adder = null }: Partial<TimedNode> = nodes[node] ?? {}
    const waitedFor: readonly number[] = parents[node] ?? []
    const notAfter: number = triggeredAtMs ?? completedAtMs ?? nowMs
    node = waitedFor.length === 0 ? adder : latest(waitedFor, { ends, notAfter })
  }
  return { nodes: path.reverse(), durationMs: Math.max(0, (ends[last] ?? beganAtMs) - beganAtMs) }
}

/** What was to run and ended last. Of what has not ended the first that was to run; of what ended in one instant the last, which others led to. */
function lastOf(nodes: readonly TimedNode[], ends: readonly (number | null)[], beganAtMs: number): number | null {
  let best: number | null = null
  let bestKey: readonly [number, number] = [Number.NEGATIVE_INFINITY, 0]
  nodes.forEach(({ triggeredAtMs, startedAtMs, completedAtMs }, node) => {
    const end = ends[node] ?? null
    if (triggeredAtMs === null || end === null || end < beganAtMs) return
    const key = [end, completedAtMs === null ? -triggeredAtMs : (startedAtMs ?? triggeredAtMs)] as const
    if (key[0] < bestKey[0] || (key[0] === bestKey[0] && key[1] <= bestKey[1])) return
    best = node
    bestKey = key
  })
  return best
}

interface Latest {
  readonly ends: readonly (number | null)[]
  readonly notAfter: number
}

function latest(places: readonly number[], { ends, notAfter }: Latest): number | null {
  let best: number | null = null
  let bestEnd = Number.NEGATIVE_INFINITY
  for (const place of places) {
    const end = ends[place] ?? null
    if (end === null || end > notAfter || end <= bestEnd) continue
    best = place
    bestEnd = end
  }
  return best
}

import type { Parents } from './order.js'

/** When a node started and ended, epoch ms; a node that was skipped, or failed for its dependencies, never started. */
export interface TimedNode {
  readonly startedAtMs: number | null
  readonly completedAtMs: number | null
}

/** The chain that the time of a workflow went by, first node first. `durationMs` null: nothing has started. */
export interface CriticalPath {
  readonly nodes: readonly number[]
  readonly durationMs: number | null
}

/**
 * The longest chain by time, where each node takes from the end of its last parent to its own end, waiting for a worker included. Since the
 * last parent is what a node waited for, it is found backwards: from what ended last (of what still runs, from what has run longest) to the
 * parent that it waited for, and so on. Parents that ended only after the node had started held nothing up. Linear time.
 *
 * @param beganAtMs when the first nodes could start; @param nowMs by the same clock, stands in for the ends of what still runs
 */
export function criticalPath(
  nodes: readonly TimedNode[],
  parents: Parents,
  { beganAtMs, nowMs }: { readonly beganAtMs: number; readonly nowMs: number },
): CriticalPath {
  const ends = nodes.map(({ startedAtMs, completedAtMs }) => completedAtMs ?? (startedAtMs === null ? null : nowMs))
  const last = lastOf(nodes, ends)
  if (last === null) return { nodes: [], durationMs: null }
  const path: number[] = []
  for (let node: number | null = last; node !== null; ) {
    path.push(node)
    const { startedAtMs = null, completedAtMs = null } = nodes[node] ?? {}
    node = latest(parents[node] ?? [], { ends, notAfter: startedAtMs ?? completedAtMs ?? nowMs })
  }
  return { nodes: path.reverse(), durationMs: Math.max(0, (ends[last] ?? beganAtMs) - beganAtMs) }
}

/** What has run and ended last. Of what still runs the first to start; of what ended in one instant the last, which others led to. */
function lastOf(nodes: readonly TimedNode[], ends: readonly (number | null)[]): number | null {
  let best: number | null = null
  let bestKey: readonly [number, number] = [Number.NEGATIVE_INFINITY, 0]
  nodes.forEach(({ startedAtMs, completedAtMs }, node) => {
    if (startedAtMs === null) return
    const key = [ends[node] ?? 0, completedAtMs === null ? -startedAtMs : startedAtMs] as const
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

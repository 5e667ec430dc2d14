import { childrenOf, type Parents, topologicalOrder } from './order.js'

/** Cycles that are told of at once: whoever made more sees the rest when these are mended. */
const maxCycles = 10

/**
 * Cycles of the graph, each as its nodes in the order in which they wait for each other, from its smallest place on; none exactly when there
 * is no cycle. Of the cycles through one node it is a shortest, which people can read. Linear time.
 */
export function findCycles(parents: Parents): number[][] {
  const sorted = new Set(topologicalOrder(parents))
  if (sorted.size === parents.length) return []
  const onward = parents.map((list, node) =>
    sorted.has(node) ? -1 : (list.find((parent) => !sorted.has(parent)) ?? -1),
  )
  const children = childrenOf(parents)
  const cycles = cycleNodes(onward).map((node) => fromSmallest(shortestThrough(node, children)))
  return [...new Map(cycles.map((cycle) => [cycle.join(), cycle])).values()]
}

/**
 * A node of each cycle that is met by going from parent to parent. What the order left out has a parent that was left out too, so every walk
 * ends in a cycle, or where an earlier walk was: each node is passed once.
 */
function cycleNodes(onward: readonly number[]): number[] {
  const walkOf = new Int32Array(onward.length).fill(-1)
  const found: number[] = []
  for (let start = 0; start < onward.length && found.length < maxCycles; start++) {
    let node = onward[start] === -1 ? -1 : start
    while (node !== -1 && walkOf[node] === -1) {
      walkOf[node] = start
      node = onward[node] ?? -1
    }
    if (node !== -1 && walkOf[node] === start) found.push(node)
  }
  return found
}

/** A shortest cycle through a node that is on one: breadth first, from child to child, until one of them is the node again. */
function shortestThrough(start: number, children: readonly (readonly number[])[]): number[] {
  const cameFrom = new Map<number, number>()
  const reached = [start]
  for (let at = 0; at < reached.length && !cameFrom.has(start); at++) {
    const node = reached[at] ?? start
    for (const child of children[node] ?? []) {
      if (cameFrom.has(child)) continue
      cameFrom.set(child, node)
      reached.push(child)
    }
  }
  return pathTo(start, cameFrom)
}

function pathTo(end: number, cameFrom: ReadonlyMap<number, number>): number[] {
  const path = [end]
  for (let node = cameFrom.get(end); node !== undefined && node !== end; node = cameFrom.get(node)) path.push(node)
  return path.reverse()
}

function fromSmallest(cycle: readonly number[]): number[] {
  const first = cycle.indexOf(cycle.reduce((least, node) => Math.min(least, node)))
  return [...cycle.slice(first), ...cycle.slice(0, first)]
}

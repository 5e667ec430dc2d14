/** For each node the places of its parents. */
export type Parents = readonly (readonly number[])[]

/** For each node the places of its children, in order. */
export function childrenOf(parents: Parents): number[][] {
  const children: number[][] = parents.map(() => [])
  parents.forEach((list, node) => {
    for (const parent of list) children[parent]?.push(node)
  })
  return children
}

/**
 * The nodes, parents before children (Kahn, 1962), in linear time. Nodes on a cycle, and those behind one, are left out: the order is
 * shorter than the graph exactly when there is a cycle.
 */
export function topologicalOrder(parents: Parents): number[] {
  const children = childrenOf(parents)
  const waitsFor = parents.map((list) => list.length)
  const order = waitsFor.flatMap((count, node) => (count === 0 ? [node] : []))
  for (let at = 0; at < order.length; at++) {
    for (const child of children[order[at] ?? -1] ?? []) {
      const left = (waitsFor[child] ?? 0) - 1
      waitsFor[child] = left
      if (left === 0) order.push(child)
    }
  }
  return order
}

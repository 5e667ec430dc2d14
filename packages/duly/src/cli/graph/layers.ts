import type { WorkflowNodeRecord } from '@duly/sdk'

/** What of a node a drawing needs. */
export type GraphNode = Pick<WorkflowNodeRecord, 'name' | 'status' | 'dependencies'>

/** Nodes that stand in one row: those that wait for the same, are waited for by the same, and stand alike; else one. */
export interface Row<Node extends GraphNode = GraphNode> {
  readonly nodes: readonly Node[]
  readonly layer: number
  /** Places of the rows that wait for it, in order. */
  readonly children: readonly number[]
}

/** From so many on, nodes that are alike share a row: a fan of a thousand is one thing to see. */
const ALIKE = 4

/**
 * The rows of a graph, each below all that it waits for: whoever can come next after a row comes there, so that what belongs together stands
 * together and few lines run side by side. `layer` is how far down a row would stand if all came as early as they can.
 */
export function rowsOf<Node extends GraphNode>(graph: readonly Node[]): readonly Row<Node>[] {
  const parents = parentsOf(graph)
  const layers = layersOf(parents)
  const groups = [...groupsOf(graph, parents)].sort((a, b) => (a[0] ?? 0) - (b[0] ?? 0))
  const children = childRows(groups, parents)
  const order = depthFirst(children)
  const rowAt = new Map(order.map((group, row) => [group, row]))
  return order.map((group) => {
    const places = groups[group] ?? []
    return {
      nodes: places.flatMap((place) => graph[place] ?? []),
      layer: layers[places[0] ?? 0] ?? 0,
      children: (children[group] ?? []).map((child) => rowAt.get(child) ?? 0).sort((a, b) => a - b),
    }
  })
}

/** Of each group the groups that wait for it. */
function childRows(
  groups: readonly (readonly number[])[],
  parents: readonly (readonly number[])[],
): readonly (readonly number[])[] {
  const groupOf = new Map(groups.flatMap((places, group) => places.map((place) => [place, group] as const)))
  const children = groups.map(() => new Set<number>())
  for (const [place, group] of groupOf) {
    for (const parent of parents[place] ?? []) children[groupOf.get(parent) ?? 0]?.add(group)
  }
  return children.map((set) => [...set].sort((a, b) => a - b))
}

/** An order in which none comes before what it waits for, and those that have become ready last come first. */
function depthFirst(children: readonly (readonly number[])[]): readonly number[] {
  const waitsFor = children.map(() => 0)
  for (const list of children) for (const child of list) waitsFor[child] = (waitsFor[child] ?? 0) + 1
  const ready = waitsFor.flatMap((count, group) => (count === 0 ? [group] : [])).reverse()
  const order: number[] = []
  for (let group = ready.pop(); group !== undefined; group = ready.pop()) {
    order.push(group)
    const freed = (children[group] ?? []).filter((child) => {
      waitsFor[child] = (waitsFor[child] ?? 0) - 1
      return waitsFor[child] === 0
    })
    ready.push(...freed.reverse())
  }
  return order
}

function parentsOf(graph: readonly GraphNode[]): readonly (readonly number[])[] {
  const places = new Map(graph.map(({ name }, place) => [name, place]))
  return graph.map(({ dependencies }) => dependencies.flatMap((name) => places.get(name) ?? []))
}

function childrenOf(parents: readonly (readonly number[])[]): readonly (readonly number[])[] {
  const children: number[][] = parents.map(() => [])
  parents.forEach((list, place) => {
    for (const parent of list) children[parent]?.push(place)
  })
  return children
}

/** For each node the length of the longest way to it; the server has refused cycles. */
function layersOf(parents: readonly (readonly number[])[]): readonly number[] {
  const children = childrenOf(parents)
  const waitsFor = parents.map(({ length }) => length)
  const layers = parents.map(() => 0)
  const ready = waitsFor.flatMap((count, place) => (count === 0 ? [place] : []))
  for (let at = 0; at < ready.length; at++) {
    const place = ready[at] ?? 0
    for (const child of children[place] ?? []) {
      layers[child] = Math.max(layers[child] ?? 0, (layers[place] ?? 0) + 1)
      waitsFor[child] = (waitsFor[child] ?? 0) - 1
      if (waitsFor[child] === 0) ready.push(child)
    }
  }
  return layers
}

/** Places of nodes that are alike, together where they are many. */
function groupsOf(
  graph: readonly GraphNode[],
  parents: readonly (readonly number[])[],
): readonly (readonly number[])[] {
  const children = childrenOf(parents)
  const alike = new Map<string, number[]>()
  graph.forEach(({ status }, place) => {
    const key = JSON.stringify([status, [...(parents[place] ?? [])].sort(), children[place]])
    const there = alike.get(key)
    if (there === undefined) alike.set(key, [place])
    else there.push(place)
  })
  return [...alike.values()].flatMap((places) => (places.length < ALIKE ? places.map((place) => [place]) : [places]))
}

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

/** The rows of a graph, layer by layer: a node stands one layer below the lowest of those that it waits for. */
export function rowsOf<Node extends GraphNode>(graph: readonly Node[]): readonly Row<Node>[] {
  const parents = parentsOf(graph)
  const layers = layersOf(parents)
  const groups = groupsOf(graph, parents).map((places) => ({ places, layer: layers[places[0] ?? 0] ?? 0 }))
  const sorted = groups.sort((a, b) => a.layer - b.layer || (a.places[0] ?? 0) - (b.places[0] ?? 0))
  const rowOf = new Map(sorted.flatMap(({ places }, row) => places.map((place) => [place, row] as const)))
  const children: Set<number>[] = sorted.map(() => new Set())
  parents.forEach((list, place) => {
    for (const parent of list) children[rowOf.get(parent) ?? 0]?.add(rowOf.get(place) ?? 0)
  })
  return sorted.map(({ places, layer }, row) => ({
    nodes: places.flatMap((place) => graph[place] ?? []),
    layer,
    children: [...(children[row] ?? [])].sort((a, b) => a - b),
  }))
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
    alike.set(key, [...(alike.get(key) ?? []), place])
  })
  return [...alike.values()].flatMap((places) => (places.length < ALIKE ? places.map((place) => [place]) : [places]))
}

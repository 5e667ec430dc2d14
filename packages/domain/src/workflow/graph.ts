import { isName, limits, namePattern } from '../limits.js'
import { findCycles } from './cycles.js'
import type { TriggerRule } from './trigger.js'

/** A node as it was submitted: dependencies are names of other nodes. */
export interface GraphNode {
  readonly name: string
  readonly dependencies: readonly string[]
  readonly triggerRule: TriggerRule
}

/** What is wrong at one place: of a node, and where it is about one of its dependencies, of which. */
export interface GraphError {
  readonly node: number
  readonly dependency: number | null
  readonly field: 'name' | 'dependencies' | 'triggerRule'
  readonly message: string
}

/** The graph by places; `parents` is complete only when there are no errors. */
export interface ValidGraph {
  readonly errors: GraphError[]
  readonly parents: number[][]
}

/** Errors that are gathered: a hostile graph could have one for each edge. */
export const graphMaxErrors = 100

/** Names of a cycle that a message shows. */
const shownOfCycle = 10

/**
 * Judges a graph: names, dependencies, limits, cycles; all errors at once, up to `graphMaxErrors`. Linear time, no recursion.
 *
 * @param options.mayNameOthers dependencies that no node of the list is called are left to the caller, who knows of more nodes; they are not
 *   among the `parents`. One that names none waits for one of those, whatever its rule
 */
export function validateGraph(
  nodes: readonly GraphNode[],
  { mayNameOthers = false }: { readonly mayNameOthers?: boolean } = {},
): ValidGraph {
  const errors: GraphError[] = []
  if (nodes.length > limits.workflowMaxNodes) return { errors: [tooManyNodes()], parents: [] }
  const places = placesOf(nodes, errors)
  if (!mayNameOthers) checkRoots(nodes, errors)
  const parents = nodes.map((_, node) => parentsOf(node, { nodes, places, mayNameOthers, errors }))
  checkEdges(nodes, errors)
  checkCycles(nodes, parents, errors)
  return { errors: errors.slice(0, graphMaxErrors), parents }
}

function placesOf(nodes: readonly GraphNode[], errors: GraphError[]): ReadonlyMap<string, number> {
  const places = new Map<string, number>()
  nodes.forEach(({ name }, node) => {
    const first = places.get(name)
    if (first === undefined) places.set(name, node)
    else errors.push(about(node, 'name', `must be unique in the workflow; tasks[${first}] has this name`))
    if (!isName(name)) errors.push(about(node, 'name', `must match ${namePattern}`))
  })
  return places
}

function checkRoots(nodes: readonly GraphNode[], errors: GraphError[]): void {
  nodes.forEach(({ dependencies, triggerRule }, node) => {
    if (triggerRule !== 'one_failed' || dependencies.length > 0) return
    errors.push(about(node, 'triggerRule', 'one_failed needs dependencies: without them none can fail'))
  })
}

interface Reading {
  readonly nodes: readonly GraphNode[]
  readonly places: ReadonlyMap<string, number>
  readonly mayNameOthers: boolean
  readonly errors: GraphError[]
}

function parentsOf(node: number, { nodes, places, mayNameOthers, errors }: Reading): number[] {
  const { name = '', dependencies = [] } = nodes[node] ?? {}
  const named = new Set<string>()
  const parents: number[] = []
  dependencies.forEach((dependency, index) => {
    const parent = places.get(dependency)
    const wrong = wrongWith(dependency, {
      isTwice: named.has(dependency),
      isSelf: dependency === name,
      parent,
      mayNameOthers,
    })
    named.add(dependency)
    if (wrong !== null) errors.push({ node, dependency: index, field: 'dependencies', message: wrong })
    else if (parent !== undefined) parents.push(parent)
  })
  return parents
}

interface NamedDependency {
  readonly isTwice: boolean
  readonly isSelf: boolean
  readonly parent: number | undefined
  readonly mayNameOthers: boolean
}

function wrongWith(name: string, { isTwice, isSelf, parent, mayNameOthers }: NamedDependency): string | null {
  if (isTwice) return `names ${shown(name)} a second time`
  if (isSelf) return `closes a cycle: ${drawCycle([name])}`
  if (parent === undefined && !mayNameOthers) return `no task of this workflow is called ${shown(name)}`
  return null
}

function checkEdges(nodes: readonly GraphNode[], errors: GraphError[]): void {
  let edges = 0
  for (const [node, { dependencies }] of nodes.entries()) {
    const before = edges
    edges += dependencies.length
    if (edges <= limits.workflowMaxEdges || before > limits.workflowMaxEdges) continue
    const message = `a workflow has at most ${limits.workflowMaxEdges} dependencies in all; this is the first one too many`
    errors.push({ node, dependency: limits.workflowMaxEdges - before, field: 'dependencies', message })
  }
}

function checkCycles(nodes: readonly GraphNode[], parents: readonly (readonly number[])[], errors: GraphError[]): void {
  for (const cycle of findCycles(parents)) {
    const [node = 0] = cycle
    const last = nodes[cycle.at(-1) ?? node]?.name ?? ''
    const dependency = nodes[node]?.dependencies.indexOf(last) ?? 0
    const names = cycle.map((place) => nodes[place]?.name ?? '')
    errors.push({ node, dependency, field: 'dependencies', message: `closes a cycle: ${drawCycle(names)}` })
  }
}

/** The cycle in words, `a → b → c → a`: each waits for the one before it. Of a long one the beginning and the end. */
function drawCycle(names: readonly string[]): string {
  const [first = ''] = names
  if (names.length <= shownOfCycle) return [...names, first].join(' → ')
  const head = names.slice(0, shownOfCycle / 2)
  const tail = names.slice(-shownOfCycle / 2)
  return [...head, `… ${names.length - shownOfCycle} more …`, ...tail, first].join(' → ')
}

function tooManyNodes(): GraphError {
  return about(
    limits.workflowMaxNodes,
    'name',
    `a workflow has at most ${limits.workflowMaxNodes} tasks; this is the first one too many`,
  )
}

function about(node: number, field: GraphError['field'], message: string): GraphError {
  return { node, dependency: null, field, message }
}

function shown(name: string): string {
  return JSON.stringify(name.length > limits.nameMaxChars ? `${name.slice(0, limits.nameMaxChars)}…` : name)
}

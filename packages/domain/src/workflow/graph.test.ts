import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { limits } from '../limits.js'
import { gather, graphs } from '../testing/graphs.js'
import { type GraphNode, graphMaxErrors, validateGraph } from './graph.js'
import { topologicalOrder } from './order.js'

const node = (name: string, ...dependencies: string[]): GraphNode => ({
  name,
  dependencies,
  triggerRule: 'all_succeeded',
})
const nodesOf = (parents: readonly (readonly number[])[]) =>
  parents.map((list, place) => node(`n${place}`, ...list.map((parent) => `n${parent}`)))
const messages = (...nodes: GraphNode[]) => validateGraph(nodes).errors.map(({ message }) => message)

/** Random graphs with cycles, as lists of parents. */
const tangled = fc.integer({ min: 1, max: 300 }).chain((count) =>
  fc.array(fc.tuple(fc.nat(count - 1), fc.nat(count - 1)), { maxLength: 2 * count }).map((pairs) =>
    gather(
      count,
      pairs.filter(([parent, child]) => parent !== child),
    ),
  ),
)

/** The obvious way: take away whoever waits for nobody that is left, until nobody can be taken away. */
function leftOver(parents: readonly (readonly number[])[]): Set<number> {
  const left = new Set(parents.keys())
  for (;;) {
    const free = [...left].find((place) => !parents[place]?.some((parent) => left.has(parent)))
    if (free === undefined) return left
    left.delete(free)
  }
}

/** The length of the shortest way from a node back to itself, by asking for one step more at a time. */
function shortestBack(start: number, parents: readonly (readonly number[])[]): number {
  let front = new Set(parents[start])
  for (let length = 1; length <= parents.length; length++) {
    if (front.has(start)) return length
    front = new Set([...front].flatMap((place) => parents[place] ?? []))
  }
  return Number.POSITIVE_INFINITY
}

const cyclesOf = (parents: readonly (readonly number[])[]) =>
  validateGraph(nodesOf(parents)).errors.map(({ message, node: at, dependency }) => ({
    at,
    dependency: dependency ?? -1,
    names: message.replace('closes a cycle: ', '').split(' → '),
  }))

describe('validateGraph', () => {
  it('finds the parents by their names, in the order given', () => {
    const nodes = [node('d', 'b', 'c'), node('a'), node('b', 'a'), node('c', 'a')]
    expect(validateGraph(nodes)).toEqual({ errors: [], parents: [[2, 3], [], [1], [1]] })
  })

  it('takes every graph without a cycle', () => {
    fc.assert(
      fc.property(graphs({ maxNodes: 300, maxEdges: 900 }), ({ parents }) => {
        expect(validateGraph(nodesOf(parents))).toEqual({ errors: [], parents })
      }),
    )
  })

  it('tells of a cycle exactly when there is one, and tells a real one', () => {
    fc.assert(
      fc.property(tangled, (parents) => {
        const cycles = cyclesOf(parents)
        expect(cycles.length > 0).toBe(leftOver(parents).size > 0)
        for (const { at, dependency, names } of cycles) {
          if (names.some((name) => name.startsWith('…'))) continue
          const places = names.map((name) => Number(name.slice(1)))
          expect(places.at(-1)).toBe(places[0])
          expect(new Set(places).size).toBe(places.length - 1)
          for (const [step, place] of places.slice(1).entries()) expect(parents[place]).toContain(places[step])
          expect(at).toBe(Math.min(...places))
          expect(parents[at]?.[dependency]).toBe(places.at(-2))
        }
      }),
    )
  })

  it('tells cycles that are the shortest of one of their nodes, each once', () => {
    fc.assert(
      fc.property(tangled, (parents) => {
        const cycles = cyclesOf(parents).filter(({ names }) => !names.some((name) => name.startsWith('…')))
        for (const { names } of cycles) {
          const back = names.slice(1).map((name) => shortestBack(Number(name.slice(1)), parents))
          expect(back).toContain(names.length - 1)
        }
        expect(new Set(cycles.map(({ names }) => names.join())).size).toBe(cycles.length)
      }),
    )
  })

  it('names the cycle in the order in which its tasks wait for each other', () => {
    expect(messages(node('a', 'c'), node('b', 'a'), node('c', 'b'))).toEqual(['closes a cycle: a → b → c → a'])
    expect(messages(node('x', 'a'), node('a', 'b'), node('b', 'a'))).toEqual(['closes a cycle: a → b → a'])
  })

  it('tells several cycles at once', () => {
    expect(messages(node('a', 'b'), node('b', 'a'), node('c', 'd'), node('d', 'c'))).toEqual([
      'closes a cycle: a → b → a',
      'closes a cycle: c → d → c',
    ])
  })

  it('shows the beginning and the end of a long cycle', () => {
    const ring = Array.from({ length: 10_000 }, (_, place) => [(place + 9_999) % 10_000])
    expect(validateGraph(nodesOf(ring)).errors).toEqual([
      {
        node: 0,
        dependency: 0,
        field: 'dependencies',
        message: 'closes a cycle: n0 → n1 → n2 → n3 → n4 → … 9990 more … → n9995 → n9996 → n9997 → n9998 → n9999 → n0',
      },
    ])
  })

  it('prefers a short cycle to a long one through the same task', () => {
    const ring = Array.from({ length: 5_000 }, (_, place) => [(place + 4_999) % 5_000])
    ring[0]?.push(1)
    expect(cyclesOf(ring)[0]?.names).toEqual(['n0', 'n1', 'n0'])
  })

  it('lists everything else that is wrong, each with its place', () => {
    const nodes = [
      node('a', 'a', 'nobody'),
      node('a'),
      node('b', 'a', 'a'),
      node('no name'),
      { ...node('cleanup'), triggerRule: 'one_failed' as const },
    ]
    expect(validateGraph(nodes).errors).toEqual([
      { node: 1, dependency: null, field: 'name', message: 'must be unique in the workflow; tasks[0] has this name' },
      { node: 3, dependency: null, field: 'name', message: expect.stringContaining('must match') },
      {
        node: 4,
        dependency: null,
        field: 'triggerRule',
        message: expect.stringContaining('one_failed needs dependencies'),
      },
      { node: 0, dependency: 0, field: 'dependencies', message: 'closes a cycle: a → a' },
      { node: 0, dependency: 1, field: 'dependencies', message: 'no task of this workflow is called "nobody"' },
      { node: 2, dependency: 1, field: 'dependencies', message: 'names "a" a second time' },
    ])
  })

  it('takes any rule without dependencies where others are there to wait for', () => {
    const nodes = [{ ...node('clean-up'), triggerRule: 'one_failed' as const }]
    expect(validateGraph(nodes, { mayNameOthers: true }).errors).toEqual([])
  })

  it('leaves names of other nodes to a caller who knows of more', () => {
    const nodes = [node('new', 'there-already'), node('newer', 'new', 'there-already')]
    expect(validateGraph(nodes, { mayNameOthers: true })).toEqual({ errors: [], parents: [[], [0]] })
  })

  it('bounds nodes, edges and errors', () => {
    const many = Array.from({ length: limits.workflowMaxNodes + 1 }, (_, place) => node(`n${place}`))
    expect(validateGraph(many).errors).toMatchObject([{ node: limits.workflowMaxNodes }])
    expect(validateGraph(many.slice(1)).errors).toEqual([])

    const roots = Array.from({ length: 400 }, (_, place) => node(`root${place}`))
    const names = roots.map(({ name }) => name)
    const joins = Array.from({ length: 250 }, (_, place) => node(`join${place}`, ...names))
    expect(validateGraph([...roots, ...joins]).errors).toEqual([])
    const over = validateGraph([...roots, ...joins, node('last', 'root0')]).errors
    expect(over).toEqual([
      {
        node: 650,
        dependency: 0,
        field: 'dependencies',
        message: expect.stringContaining('at most 100000 dependencies'),
      },
    ])

    expect(messages(...many.slice(1).map(({ name }) => node(name, 'nobody')))).toHaveLength(graphMaxErrors)
  })

  it('takes a chain of 10,000 and a fan of 100,000 edges without recursion', () => {
    const chain = Array.from({ length: 10_000 }, (_, place) => (place === 0 ? [] : [place - 1]))
    expect(validateGraph(nodesOf(chain)).parents).toEqual(chain)
    const fan = Array.from({ length: 10_000 }, (_, place) => (place < 20 ? [] : [...Array(10).keys()]))
    expect(validateGraph(nodesOf(fan)).parents).toEqual(fan)
  })

  it('looks at each name a bounded number of times', () => {
    let reads = 0
    const counted = (count: number) =>
      Array.from({ length: count }, (_, place) => ({
        get name() {
          reads++
          return `n${place}`
        },
        dependencies: place === 0 ? [] : [`n${place - 1}`],
        triggerRule: 'all_succeeded' as const,
      }))
    const readsOf = (count: number) => {
      reads = 0
      validateGraph(counted(count))
      return reads
    }
    expect(readsOf(10_000)).toBe(10 * readsOf(1_000))
  })
})

describe('topologicalOrder', () => {
  it('has parents before children, and leaves out what is on or behind a cycle', () => {
    fc.assert(
      fc.property(tangled, (parents) => {
        const order = topologicalOrder(parents)
        const at = new Map(order.map((place, index) => [place, index]))
        for (const place of order) {
          for (const parent of parents[place] ?? []) expect(at.get(parent)).toBeLessThan(at.get(place) ?? -1)
        }
        const left = leftOver(parents)
        expect(order.length + left.size).toBe(parents.length)
        for (const place of order) expect(left.has(place)).toBe(false)
      }),
    )
  })
})

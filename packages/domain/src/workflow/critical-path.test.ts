import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { graphs } from '../testing/graphs.js'
import { criticalPath, type TimedNode } from './critical-path.js'
import { topologicalOrder } from './order.js'

const ran = (startedAtMs: number, completedAtMs: number | null): TimedNode => ({
  triggeredAtMs: startedAtMs,
  startedAtMs,
  completedAtMs,
})
/** Judged to run, and not running: it waits for a worker, for its time, or for a retry; or it was ended while it did. */
const waits = (triggeredAtMs: number, completedAtMs: number | null = null): TimedNode => ({
  triggeredAtMs,
  startedAtMs: null,
  completedAtMs,
})
/** It waits for others; or it ended without having been judged to run. */
const idle = (completedAtMs: number | null = null): TimedNode => ({
  triggeredAtMs: null,
  startedAtMs: null,
  completedAtMs,
})
const span = { beganAtMs: 0, nowMs: 1_000 }

describe('criticalPath', () => {
  it('goes by the parent that was waited for', () => {
    const nodes = [ran(1, 10), ran(10, 90), ran(10, 40), ran(95, 100)]
    expect(criticalPath(nodes, [[], [0], [0], [1, 2]], span)).toEqual({ nodes: [0, 1, 3], durationMs: 100 })
  })

  it('ends at what still runs, of several at what has run longest', () => {
    const nodes = [ran(0, 10), ran(300, null), ran(20, null), idle()]
    expect(criticalPath(nodes, [[], [0], [0], [1, 2]], span)).toEqual({ nodes: [0, 2], durationMs: 1_000 })
  })

  it('ends at what waits for a worker, its time or a retry now, and for no other node', () => {
    expect(criticalPath([waits(5)], [[]], span)).toEqual({ nodes: [0], durationMs: 1_000 })
    const nodes = [ran(0, 24), waits(24), idle(), ran(0, 900)]
    expect(criticalPath(nodes, [[], [0], [1], []], span)).toEqual({ nodes: [0, 1], durationMs: 1_000 })
  })

  it('ends at what was cancelled while it waited, if that took longest', () => {
    expect(criticalPath([ran(0, 24), waits(24, 700)], [[], [0]], span)).toEqual({ nodes: [0, 1], durationMs: 700 })
  })

  it('is nothing before its time has begun, and of nodes that were never to run', () => {
    const nothing = { nodes: [], durationMs: null }
    const later = { beganAtMs: 2_000, nowMs: 1_000 }
    expect(criticalPath([waits(5)], [[]], later)).toEqual(nothing)
    expect(criticalPath([waits(5, 900)], [[]], later)).toEqual(nothing)
    expect(criticalPath([idle()], [[]], span)).toEqual(nothing)
    expect(criticalPath([idle(5)], [[]], span)).toEqual(nothing)
  })

  it('passes through a node that was skipped', () => {
    const nodes = [ran(0, 50), idle(50), { ...ran(60, 80), triggeredAtMs: 50 }]
    expect(criticalPath(nodes, [[], [0], [1]], span)).toEqual({ nodes: [0, 1, 2], durationMs: 80 })
  })

  it('leaves out a parent that ended after its child had started', () => {
    const nodes = [ran(0, 10), ran(0, 500), ran(11, 30)]
    expect(criticalPath(nodes, [[], [], [0, 1]], { beganAtMs: 0, nowMs: 600 })).toEqual({ nodes: [1], durationMs: 500 })
    const only = [ran(0, 10), ran(0, 25), ran(11, 30)]
    expect(criticalPath(only, [[], [], [0, 1]], span).nodes).toEqual([0, 2])
    const triedAgain = [ran(0, 10), ran(0, 25), { triggeredAtMs: 10, startedAtMs: 28, completedAtMs: 30 }]
    expect(criticalPath(triedAgain, [[], [], [0, 1]], span).nodes).toEqual([0, 2])
  })

  it('goes on from what waited for nothing to the node that added it', () => {
    const nodes = [ran(0, 10), ran(10, 40), { ...ran(20, 90), adder: 1 }, { ...ran(95, 99), adder: 1 }]
    expect(criticalPath(nodes, [[], [0], [], [2]], span)).toEqual({ nodes: [0, 1, 2, 3], durationMs: 99 })
  })

  it('takes a chain of 10,000', () => {
    const parents = Array.from({ length: 10_000 }, (_, place) => (place === 0 ? [] : [place - 1]))
    const nodes = parents.map((_, place) => ran(place, place + 1))
    expect(criticalPath(nodes, parents, span)).toEqual({ nodes: [...parents.keys()], durationMs: 10_000 })
  })

  it('is the longest of all chains, each node taking from the end of its last parent to its own', () => {
    const timed = graphs({ maxNodes: 9, maxEdges: 20 }).chain(({ parents }) =>
      fc.record({
        parents: fc.constant(parents),
        steps: fc.array(fc.tuple(fc.nat(20), fc.nat(20)), { minLength: parents.length, maxLength: parents.length }),
      }),
    )
    fc.assert(
      fc.property(timed, ({ parents, steps }) => {
        const nodes = timesOf(parents, steps)
        const path = criticalPath(nodes, parents, { beganAtMs: 100, nowMs: 0 })
        const readyAt = (node: number) =>
          Math.max(100, ...(parents[node] ?? []).map((parent) => nodes[parent]?.completedAtMs ?? 0))
        const lengthOf = (chain: readonly number[]) =>
          chain.reduce((sum, node) => sum + (nodes[node]?.completedAtMs ?? 0) - readyAt(node), 0)
        const longest = Math.max(...chainsOf(parents).map(lengthOf))
        expect(path.durationMs).toBe(longest)
        expect(lengthOf(path.nodes)).toBe(longest)
        for (const [index, node] of path.nodes.slice(1).entries()) expect(parents[node]).toContain(path.nodes[index])
      }),
    )
  })
})

/** Times of nodes that wait for all their parents, then for a worker, then run. */
function timesOf(parents: readonly (readonly number[])[], steps: readonly (readonly [number, number])[]): TimedNode[] {
  const ends: number[] = []
  const nodes: TimedNode[] = []
  for (const node of topologicalOrder(parents)) {
    const [wait = 0, run = 0] = steps[node] ?? []
    const triggeredAtMs = Math.max(100, ...(parents[node] ?? []).map((parent) => ends[parent] ?? 0))
    const start = triggeredAtMs + wait
    ends[node] = start + run
    nodes[node] = { ...ran(start, start + run), triggeredAtMs }
  }
  return nodes
}

/** Every chain from a node without parents to any node. */
function chainsOf(parents: readonly (readonly number[])[]): number[][] {
  const endingIn = (node: number): number[][] => {
    const list = parents[node] ?? []
    return list.length === 0 ? [[node]] : list.flatMap((parent) => endingIn(parent).map((chain) => [...chain, node]))
  }
  return [...parents.keys()].flatMap(endingIn)
}

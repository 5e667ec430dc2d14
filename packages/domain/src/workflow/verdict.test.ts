import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { drawnEnds, graphs, play } from '../testing/graphs.js'
import { type EndedNode, untakenFailures, workflowVerdict } from './verdict.js'

const ended = (end: EndedNode['end'], triggerRule: EndedNode['triggerRule'] = 'all_succeeded', triggered = true) => ({
  end,
  triggerRule,
  triggered,
})

describe('untakenFailures', () => {
  it('lets a child that ran in spite of the failure take it in', () => {
    for (const rule of ['all_done', 'one_failed', 'one_succeeded'] as const) {
      expect(untakenFailures([ended('failed'), ended('succeeded', rule)], [[], [0]])).toEqual([])
    }
  })

  it('does not let a child take it in that was not judged to run, or whose rule asks for success', () => {
    expect(untakenFailures([ended('failed'), ended('cancelled', 'all_done', false)], [[], [0]])).toEqual([0])
    expect(untakenFailures([ended('failed'), ended('failed', 'all_succeeded', false)], [[], [0]])).toEqual([0, 1])
    expect(untakenFailures([ended('failed'), ended('failed', 'none_failed', false)], [[], [0]])).toEqual([0, 1])
  })

  it('counts the failure of the child that took one in by itself', () => {
    expect(untakenFailures([ended('failed'), ended('failed', 'one_failed')], [[], [0]])).toEqual([1])
  })

  it('asks of no cancelled and no skipped node that it is taken in', () => {
    expect(untakenFailures([ended('cancelled'), ended('skipped')], [[], []])).toEqual([])
  })

  it('agrees with looking at each pair of nodes, over played graphs', () => {
    fc.assert(
      fc.property(
        graphs({ maxNodes: 300, maxEdges: 600 }).chain((graph) =>
          fc.record({ graph: fc.constant(graph), ends: drawnEnds(graph.parents.length) }),
        ),
        ({ graph, ends: drawn }) => {
          const { ends, triggered } = play(graph, {
            choose: ([first = 0]) => first,
            endOf: (node) => drawn[node] ?? 'failed',
          })
          const nodes = ends.map((end, place) => ended(end ?? 'failed', graph.rules[place], triggered[place] ?? false))
          const slow = nodes.flatMap(({ end }, place) => {
            const isTaken = nodes.some(
              (child, other) =>
                graph.parents[other]?.includes(place) &&
                child.triggered &&
                !['all_succeeded', 'none_failed'].includes(child.triggerRule),
            )
            return end === 'failed' && !isTaken ? [place] : []
          })
          expect(untakenFailures(nodes, graph.parents)).toEqual(slow)
        },
      ),
      { numRuns: 30 },
    )
  })
})

describe('workflowVerdict', () => {
  const plain = { cancelRequested: false, failed: 0, untaken: 0, hasSucceeded: true, leftBy: null } as const
  const ends = { ...plain, failurePolicy: 'fail_dependents' } as const

  it('succeeds without failures, and with failures that were all taken in', () => {
    expect(workflowVerdict(ends)).toBe('SUCCEEDED')
    expect(workflowVerdict({ ...ends, failed: 2 })).toBe('SUCCEEDED')
  })

  it('fails by one failure that was not taken in, whether anything succeeded or not', () => {
    expect(workflowVerdict({ ...ends, failed: 2, untaken: 1 })).toBe('FAILED')
    expect(workflowVerdict({ ...ends, failed: 2, untaken: 1, hasSucceeded: false })).toBe('FAILED')
  })

  it('fails by every failure when it fails fast', () => {
    expect(workflowVerdict({ ...ends, failurePolicy: 'fail_fast', failed: 1 })).toBe('FAILED')
    expect(workflowVerdict({ ...ends, failurePolicy: 'fail_fast' })).toBe('SUCCEEDED')
  })

  it('is cancelled when that was asked for, whatever succeeded or failed meanwhile', () => {
    expect(workflowVerdict({ ...ends, cancelRequested: true })).toBe('CANCELLED')
    expect(workflowVerdict({ ...ends, cancelRequested: true, failed: 1, untaken: 1 })).toBe('CANCELLED')
  })

  it('is what it was while tasks are left that it had cancelled itself', () => {
    expect(workflowVerdict({ ...ends, leftBy: 'workflow_failed' })).toBe('FAILED')
    expect(workflowVerdict({ ...ends, leftBy: 'workflow_cancelled' })).toBe('CANCELLED')
    expect(workflowVerdict({ ...ends, leftBy: 'workflow_cancelled', failed: 1, untaken: 1 })).toBe('FAILED')
  })

  it('is cancelled when its tasks were, one by one, and nothing succeeded', () => {
    expect(workflowVerdict({ ...ends, hasSucceeded: false })).toBe('CANCELLED')
  })
})

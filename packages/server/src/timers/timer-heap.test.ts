import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { DueTimer } from '../store/timer-store.js'
import { TimerHeap } from './timer-heap.js'

function timer(id: string, wakeAtMs: number): DueTimer {
  const lane = { tenant: 't', queue: 'q', priority: 2, gate: '' } as const
  return { id, wakeAtMs, partition: 0, status: 'SCHEDULED', taskType: 'x', suspect: false, mayExpire: false, ...lane }
}

const heapOf = (limit: number) => new TimerHeap(limit, () => {})

describe('the heap of timers', () => {
  it('gives what is due, earliest first, and nothing else', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 100 }), { maxLength: 60 }),
        fc.integer({ min: 0, max: 100 }),
        fc.integer({ min: 0, max: 80 }),
        (instants, nowMs, limit) => {
          const heap = heapOf(1_000)
          for (const [index, at] of instants.entries()) heap.add(timer(`t${index}`, at))
          const due = heap.takeDue(nowMs, limit).map((each) => each.wakeAtMs)
          const expected = instants.filter((at) => at <= nowMs).sort((a, b) => a - b)
          expect(due).toEqual(expected.slice(0, limit))
          expect(heap.size).toBe(instants.length - due.length)
          const rest = [...instants].sort((a, b) => a - b).slice(due.length)
          expect(heap.nextMs).toBe(rest[0] ?? Number.POSITIVE_INFINITY)
          expect(heap.takeDue(1_000, 1_000).map((each) => each.wakeAtMs)).toEqual(rest)
        },
      ),
    )
  })

  it('holds an instant of a task once, and again after it was taken', () => {
    const heap = heapOf(10)
    expect(heap.add(timer('a', 5))).toBe(true)
    expect(heap.add(timer('a', 5))).toBe(false)
    expect(heap.size).toBe(1)
    expect(heap.takeDue(5, 10)).toHaveLength(1)
    expect(heap.add(timer('a', 9))).toBe(true)
    expect(heap.nextMs).toBe(9)
  })

  it('holds every instant that it was told of a task, earlier and later ones: only the store knows which is right', () => {
    const heap = heapOf(20)
    heap.add(timer('a', 50))
    expect(heap.add(timer('a', 10))).toBe(true)
    expect(heap.add(timer('a', 90))).toBe(false)
    for (const at of [10, 50, 90]) expect(heap.takeDue(at, 10).map(({ wakeAtMs }) => wakeAtMs)).toEqual([at])
    expect(heap.size).toBe(0)
  })

  it('holds the earliest 8 instants of one task, and tells what it forgot', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 0, max: 100 }), { minLength: 9, maxLength: 30 }), (instants) => {
        const forgotten: number[] = []
        const heap = new TimerHeap(100, (atMs) => forgotten.push(atMs))
        heap.add(timer('b', 50))
        for (const at of instants) heap.add(timer('a', at))
        expect(heap.size).toBe(9)
        const sorted = [...instants].sort((a, b) => a - b)
        expect(forgotten.sort((a, b) => a - b)).toEqual(sorted.slice(8))
        const held = [...sorted.slice(0, 8), 50].sort((a, b) => a - b)
        const order = held.map(() => heap.takeDue(heap.nextMs, 1)[0]?.wakeAtMs)
        expect(order).toEqual(held)
      }),
    )
  })

  it('gives a task once, though both its instants are past', () => {
    const heap = heapOf(10)
    heap.add(timer('a', 50))
    heap.add(timer('a', 10))
    heap.add(timer('b', 60))
    expect(heap.takeDue(60, 2).map(({ id, wakeAtMs }) => [id, wakeAtMs])).toEqual([
      ['a', 10],
      ['b', 60],
    ])
    expect(heap.size).toBe(0)
  })

  it('says whether a timer is now the earliest, so that a sleep is cut short', () => {
    const heap = heapOf(10)
    expect(heap.add(timer('a', 50))).toBe(true)
    expect(heap.add(timer('b', 60))).toBe(false)
    expect(heap.add(timer('c', 40))).toBe(true)
  })

  it('takes no more than its limit, keeps what is earliest, and tells what it forgot', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 1_000 }), { maxLength: 200 }), (instants) => {
        let forgottenMs = Number.POSITIVE_INFINITY
        const heap = new TimerHeap(16, (atMs) => {
          forgottenMs = Math.min(forgottenMs, atMs)
        })
        for (const [index, at] of instants.entries()) heap.add(timer(`t${index}`, at))
        expect(heap.size).toBeLessThanOrEqual(16)
        const held = heap.takeDue(1_000, 1_000).map(({ wakeAtMs }) => wakeAtMs)
        const before = (all: readonly number[]) => all.filter((at) => at < forgottenMs).sort((a, b) => a - b)
        expect(before(held)).toEqual(before(instants))
      }),
    )
  })

  it('has room again for what it forgot', () => {
    const forgotten: number[] = []
    const heap = new TimerHeap(2, (atMs) => forgotten.push(atMs))
    for (const [id, at] of [['a', 3] as const, ['b', 2] as const, ['c', 1] as const]) heap.add(timer(id, at))
    expect([heap.size, heap.nextMs, forgotten]).toEqual([2, 1, [3]])
    heap.takeDue(2, 2)
    expect(heap.add(timer('a', 3))).toBe(true)
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { DueTimer } from '../store/timer-store.js'
import { TimerHeap } from './timer-heap.js'

function timer(id: string, wakeAtMs: number): DueTimer {
  const lane = { tenant: 't', queue: 'q', priority: 2, gate: '' } as const
  return { id, wakeAtMs, partition: 0, status: 'SCHEDULED', taskType: 'x', suspect: false, mayExpire: false, ...lane }
}

describe('the heap of timers', () => {
  it('gives what is due, earliest first, and nothing else', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 100 }), { maxLength: 60 }),
        fc.integer({ min: 0, max: 100 }),
        fc.integer({ min: 0, max: 80 }),
        (instants, nowMs, limit) => {
          const heap = new TimerHeap(1_000)
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
    const heap = new TimerHeap(10)
    expect(heap.add(timer('a', 5))).toBe(true)
    expect(heap.add(timer('a', 5))).toBe(false)
    expect(heap.size).toBe(1)
    expect(heap.takeDue(5, 10)).toHaveLength(1)
    expect(heap.add(timer('a', 9))).toBe(true)
    expect(heap.nextMs).toBe(9)
  })

  it('holds every instant that it was told of a task, earlier and later ones: only the store knows which is right', () => {
    const heap = new TimerHeap(20)
    heap.add(timer('a', 50))
    expect(heap.add(timer('a', 10))).toBe(true)
    expect(heap.add(timer('a', 90))).toBe(false)
    for (const at of [10, 50, 90]) expect(heap.takeDue(at, 10).map(({ wakeAtMs }) => wakeAtMs)).toEqual([at])
    expect(heap.size).toBe(0)
  })

  it('holds no more than 8 instants of one task', () => {
    const heap = new TimerHeap(20)
    for (let at = 0; at < 12; at++) heap.add(timer('a', at))
    expect(heap.size).toBe(8)
    heap.takeDue(0, 10)
    heap.add(timer('a', 30))
    expect(heap.size).toBe(8)
  })

  it('gives a task once, though both its instants are past', () => {
    const heap = new TimerHeap(10)
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
    const heap = new TimerHeap(10)
    expect(heap.add(timer('a', 50))).toBe(true)
    expect(heap.add(timer('b', 60))).toBe(false)
    expect(heap.add(timer('c', 40))).toBe(true)
  })

  it('takes no more than its limit', () => {
    const heap = new TimerHeap(2)
    for (const [id, at] of [['a', 3] as const, ['b', 2] as const, ['c', 1] as const]) heap.add(timer(id, at))
    expect(heap.size).toBe(2)
    expect(heap.nextMs).toBe(2)
  })
})

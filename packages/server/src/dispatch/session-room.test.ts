import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { TakenTask } from '../queue/port.js'
import type { SessionState } from './session-state.js'
import { aPoll, numbers, open, type TestPoll } from './testing/polls.js'
import { aSession, taken } from './testing/tasks.js'

describe('slots', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('poll' as const), part: fc.double({ min: 0, max: 1, noNaN: true }) }),
    fc.record({ kind: fc.constant('promise' as const), slots: fc.integer({ min: 1, max: 4 }) }),
    fc.record({ kind: fc.constant('keep' as const), part: fc.double({ min: 0, max: 1, noNaN: true }) }),
    fc.record({ kind: fc.constant('leave' as const) }),
  )

  it('are never exceeded by what the worker has, what waits for it and what is promised', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10 }), fc.array(step, { maxLength: 60 }), (slots, steps) => {
        const state = aSession()
        const promises: number[] = []
        let poll: TestPoll | null = null
        let holds = 0
        let next = 1
        const collect = (): void => {
          if (poll?.answered) {
            holds += poll.answered.length
            poll = null
          }
        }
        for (const each of steps) {
          if (each.kind === 'poll') {
            const fresh = aPoll(Math.floor(each.part * (slots - holds)))
            // an older one is answered first: the worker has not seen that when it asks
            const older = poll
            state.open(fresh)
            holds += older?.answered?.length ?? 0
            poll = fresh
          } else if (each.kind === 'promise') {
            const count = Math.min(each.slots, state.free)
            if (count > 0) {
              state.promise(count)
              promises.push(count)
            }
          } else if (each.kind === 'keep') {
            const count = promises.shift()
            if (count !== undefined) {
              const tasks = Array.from({ length: Math.round(each.part * count) }, () => taken(next++))
              state.fulfil(count, tasks)
              state.settle()
            }
          } else if (poll) {
            state.abandon(poll)
            poll = null
          }
          collect()
          expect(holds + state.mailbox.length + state.promised).toBeLessThanOrEqual(slots)
        }
      }),
    )
  })
})

describe('the room of a session', () => {
  const grant = (state: SessionState, ...numbers: number[]): void => {
    state.promise(numbers.length)
    state.fulfil(
      numbers.length,
      numbers.map((n) => taken(n)),
    )
    state.settle()
  }

  it('is what it registered less what it has not reported, whatever its polls ask for', () => {
    const state = aSession({ slots: 3 })
    open(state, 3)
    grant(state, 1, 2)
    const poll = open(state, 3)
    expect(state.free).toBe(1)
    state.leases.report(taken(1))
    expect(state.free).toBe(2)
    grant(state, 3, 4)
    expect(numbers(poll.answered)).toEqual([3, 4])
    expect(state.spare).toBe(0)
    state.leases.report(taken(2))
    expect(state.spare).toBe(1)
  })

  it('is nothing when another node may have given it tasks', () => {
    const state = aSession()
    open(state, 3)
    expect(state.free).toBe(3)
    state.doubt()
    expect(state.free).toBe(0)
    state.isServed = true
    expect(state.free).toBe(3)
  })

  it('is exceeded by a poll of a worker that believes to hold less; what it has not fetched does not count', () => {
    const state = aSession({ slots: 3 })
    open(state, 3)
    grant(state, 1, 2)
    expect(state.excessOf(1)).toBeNull()
    expect(state.excessOf(2)).toEqual({ tokens: [1n, 2n], allowed: 1 })
    state.refill([taken(1), taken(2)], [])
    expect(state.excessOf(3)).toBeNull()
  })

  const step = fc.record({
    kind: fc.constantFrom('poll', 'promise', 'keep', 'report', 'lose answer'),
    count: fc.integer({ min: 1, max: 6 }),
  })

  it('is never exceeded by a worker that asks for what it likes', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 6 }), fc.array(step, { maxLength: 80 }), (slots, steps) => {
        const state = aSession({ slots })
        const [promises, held]: [number[], TakenTask[]] = [[], []]
        let next = 1
        for (const { kind, count } of steps) {
          if (kind === 'poll') open(state, count)
          else if (kind === 'promise') {
            const promised = Math.min(count, Math.max(state.free, state.spare))
            state.promise(promised)
            promises.push(promised)
          } else if (kind === 'keep' || kind === 'lose answer') {
            const promised = promises.shift() ?? 0
            const tasks = Array.from({ length: Math.min(promised, count) }, () => taken(next++))
            held.push(...tasks)
            state.fulfil(promised, kind === 'keep' ? tasks : [])
            // what got lost is found by a look into the store
            if (kind === 'lose answer') {
              state.doubt()
              state.leases.replace(held, state.leases.tokens())
              state.isServed = true
            }
            state.settle()
          } else for (const task of held.splice(0, count)) state.leases.report(task)
          expect(held.length + state.promised).toBeLessThanOrEqual(slots)
        }
      }),
    )
  })
})

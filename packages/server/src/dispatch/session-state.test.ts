import { describe, expect, it } from 'vitest'
import { numbers, open } from './testing/polls.js'
import { aSession, taken } from './testing/tasks.js'

describe('a poll', () => {
  it('is answered with what came true, at once', () => {
    const state = aSession()
    const poll = open(state, 3)
    state.promise(2)
    expect(state.free).toBe(1)
    state.fulfil(2, [taken(1)])
    state.settle()
    expect(numbers(poll.answered)).toEqual([1])
    expect(state.free).toBe(0)
  })

  it('is answered empty when a newer one comes, which gets what follows', () => {
    const state = aSession()
    const [older, newer] = [open(state, 1), open(state, 1)]
    expect(numbers(older.answered)).toEqual([])
    state.promise(1)
    state.fulfil(1, [taken(1)])
    state.settle()
    expect(numbers(newer.answered)).toEqual([1])
  })

  it('in a hurry waits for what was promised, and for nothing else', () => {
    const state = aSession()
    const poll = open(state, 2)
    state.promise(1)
    state.hurry(poll)
    expect(poll.answered).toBeNull()
    expect(state.free).toBe(0)
    state.fulfil(1, [])
    state.settle()
    expect(numbers(poll.answered)).toEqual([])
  })

  it('is not ended by the hurry of one before it', () => {
    const state = aSession()
    const older = open(state, 1)
    const newer = open(state, 1)
    state.hurry(older)
    expect(newer.answered).toBeNull()
    state.hurry(newer)
    expect(newer.answered).toEqual([])
  })

  it('whose client went away leaves its tasks to the next', () => {
    const state = aSession()
    const gone = open(state, 2)
    state.promise(1)
    state.abandon(gone)
    state.fulfil(1, [taken(1)])
    state.settle()
    expect(gone.answered).toBeNull()
    expect(numbers(open(state, 1).answered)).toEqual([1])
  })
})

describe('the word of the store', () => {
  it('replaces what waited when it was asked for', () => {
    const state = aSession()
    for (const n of [1, 2]) {
      state.promise(1)
      state.fulfil(1, [taken(n)])
    }
    const before = state.mailbox
    // the first has ended since, the second has a fresh deadline
    state.refill([taken(2, { deadlineAtMs: 9_000 })], before)
    expect(open(state, 5).answered).toMatchObject([{ grant: 2, deadlineAtMs: 9_000 }])
  })

  it('leaves alone what came while it was asked for', () => {
    const state = aSession()
    state.promise(2)
    state.fulfil(1, [taken(1)])
    const before = state.mailbox
    state.fulfil(1, [taken(2)])
    state.refill([taken(1)], before)
    expect(numbers(open(state, 5).answered)).toEqual([1, 2])
  })

  it('names no task twice that also came by itself', () => {
    const state = aSession()
    state.promise(1)
    const before = state.mailbox
    state.fulfil(1, [taken(1)])
    state.refill([taken(1)], before)
    expect(numbers(open(state, 5).answered)).toEqual([1])
  })
})

describe('a task that the store told of before its claim was answered', () => {
  it('waits once', () => {
    const state = aSession()
    state.promise(1)
    state.refill([taken(1)], [])
    state.fulfil(1, [taken(1)])
    expect(numbers(open(state, 5).answered)).toEqual([1])
  })

  it('does not come back, nor takes a slot, when the worker has had it and ended it meanwhile', () => {
    const state = aSession()
    state.promise(1)
    state.refill([taken(1)], [])
    expect(numbers(open(state, 5).answered)).toEqual([1])
    state.leases.end(taken(1).token)
    state.fulfil(1, [taken(1)])
    expect(state.mailbox).toEqual([])
    expect(state.leases.size).toBe(0)
  })
})

describe('an answer acknowledges nothing that the worker does not have', () => {
  it('while a number below is missing: the task goes out at once, under the last number that is whole', () => {
    const state = aSession()
    const poll = open(state, 3)
    state.promise(1)
    state.fulfil(1, [taken(2)])
    state.settle()
    expect(numbers(poll.answered)).toEqual([0])
    expect(state.grants.highestSent).toBe(2)
    const next = open(state, 3)
    state.refill([taken(1), taken(2)], [])
    expect(numbers(next.answered)).toEqual([1, 2])
  })

  it('while a part of its grant waits for more slots', () => {
    const state = aSession()
    state.promise(3)
    state.fulfil(3, [taken(1), taken(2), taken(2, { token: 9n })])
    expect(numbers(open(state, 2).answered)).toEqual([1, 1])
    expect(numbers(open(state, 2).answered)).toEqual([2])
  })

  it('while what is being given to others may be its own still', () => {
    const state = aSession()
    state.promise(2)
    state.fulfil(1, [taken(1)])
    const leaving = state.takeUnfetched()
    state.fulfil(1, [taken(2)])
    expect(numbers(open(state, 5).answered)).toEqual([0])
    state.gaveBack(leaving)
    state.promise(1)
    state.fulfil(1, [taken(3)])
    expect(numbers(open(state, 5).answered)).toEqual([3])
  })
})

describe('what no poll fetched', () => {
  it('is given to others', () => {
    const state = aSession()
    state.promise(1)
    state.fulfil(1, [taken(1)])
    expect(numbers(state.takeUnfetched())).toEqual([1])
    expect(numbers(open(state, 5).answered)).toBeNull()
  })

  it("is the worker's own again when the store says so", () => {
    const state = aSession()
    state.promise(2)
    state.fulfil(2, [taken(1), taken(2)])
    state.takeUnfetched()
    expect(numbers(state.leaving)).toEqual([1, 2])
    const before = state.unfetched
    state.refill([taken(2, { deadlineAtMs: 9_000 })], before)
    expect(state.leaving).toEqual([])
    expect(open(state, 5).answered).toMatchObject([{ grant: 2, deadlineAtMs: 9_000 }])
  })

  it('stays when it is repeated: the worker may have had it with an answer before', () => {
    const state = aSession()
    state.promise(1)
    state.fulfil(1, [taken(2)])
    state.refill([taken(1)], [])
    expect(numbers(state.takeUnfetched())).toEqual([2])
    expect(numbers(state.mailbox)).toEqual([1])
    expect(numbers(open(state, 5).answered)).toEqual([1])
    state.promise(1)
    state.fulfil(1, [taken(3)])
    expect(numbers(state.takeUnfetched())).toEqual([3])
  })
})

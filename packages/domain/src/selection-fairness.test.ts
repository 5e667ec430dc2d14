import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Lane } from './lane.js'
import { LaneSelector, maxIdleLanes } from './selection.js'
import { lane, offer, startsOf, trail } from './testing/lanes.js'

describe('newcomers', () => {
  it('start within one round behind a million starts of another', () => {
    const selector = new LaneSelector()
    for (let n = 0; n < 2_000; n++) selector.select([offer({ tenant: 'old' })], 500)
    const names = trail(selector, [offer({ tenant: 'old' }), offer({ tenant: 'new' }, 1)], 2)
    expect(names).toContain('new')
  })

  it('start within one round of a thousand tenants', () => {
    const selector = new LaneSelector()
    const offers = Array.from({ length: 1_000 }, (_, n) => offer({ tenant: `t${n}` }))
    for (let n = 0; n < 123; n++) selector.select(offers, 37)
    expect(trail(selector, [...offers, offer({ tenant: 'new' })], 1_001)).toContain('new')
  })

  it('with a hundred tasks are done within 201 starts beside a hundred thousand', () => {
    const selector = new LaneSelector()
    selector.select([offer({ tenant: 'large' })], 500)
    const grants = selector.select([offer({ tenant: 'large' }, 99_500), offer({ tenant: 'small' }, 100)], 201)
    expect(startsOf('small', grants)).toBe(100)
  })

  it('in an endless stream do not starve who waits', () => {
    const selector = new LaneSelector()
    selector.select([offer({ tenant: 'waiting' })], 10)
    let served = 0
    for (let n = 0; n < 1_000; n++) {
      const fresh = Array.from({ length: 5 }, (_, k) => offer({ tenant: `new-${n}-${k}` }, 1))
      const grants = selector.select([...fresh, offer({ tenant: 'waiting' })], 5)
      served += startsOf('waiting', grants)
    }
    expect(served).toBeGreaterThan(700)
  })
})

describe('idle lanes', () => {
  it('earn no credit for the past', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 1, max: 3_000 }), (seen, alone) => {
        const selector = new LaneSelector()
        const both = [offer({ tenant: 'busy' }), offer({ tenant: 'idle' })]
        if (seen > 0) selector.select(both, seen)
        selector.select([offer({ tenant: 'busy' })], alone)
        const back = trail(selector, both, 100).filter((tenant) => tenant === 'idle').length
        expect(back).toBeGreaterThanOrEqual(49)
        expect(back).toBeLessThanOrEqual(52)
      }),
    )
  })

  it('keep what they waited while others are offered without them', () => {
    const selector = new LaneSelector({ tenantWeight: (tenant) => (tenant === 'large' ? 10 : 1) })
    const both = [offer({ tenant: 'large' }), offer({ tenant: 'small' })]
    let small = 0
    for (let n = 0; n < 2_200; n++) {
      selector.select([offer({ tenant: 'large' })], 1)
      small += startsOf('small', selector.select(both, 1))
    }
    expect(small).toBeGreaterThanOrEqual(400 * 0.95)
    expect(small).toBeLessThanOrEqual(400 * 1.05)
  })

  it('are forgotten, so that memory is bounded while tenants come and go', () => {
    const selector = new LaneSelector()
    for (let n = 0; n < 2_000; n++) {
      selector.select(
        Array.from({ length: 100 }, (_, k) => offer({ tenant: `t${n * 100 + k}` }, 1)),
        100,
      )
      expect(selector.size).toBeLessThanOrEqual(maxIdleLanes + 200)
    }
    selector.forget()
    expect(selector.size).toBe(100)
    selector.select([], 1)
    selector.forget()
    expect(selector.size).toBe(0)
  })

  it('that were forgotten wait for one round at most when they return', () => {
    const selector = new LaneSelector()
    const both = [offer({ tenant: 'a' }), offer({ tenant: 'b' })]
    trail(selector, both, 500)
    selector.select([offer({ tenant: 'a' })], 100)
    selector.forget()
    const names = trail(selector, both, 100)
    expect(names.slice(0, 3)).toContain('b')
    expect(names.filter((tenant) => tenant === 'a').length).toBeGreaterThanOrEqual(49)
  })
})

describe('refund', () => {
  const pairs: readonly [Partial<Lane>, Partial<Lane>][] = [
    [{ queue: 'a' }, { queue: 'b' }],
    [{ priority: 1 }, { priority: 3 }],
    [{ tenant: 'a' }, { tenant: 'b' }],
    [{ gate: 'a' }, { gate: 'b' }],
  ]

  /** Selects 10 slots a round from two lanes; the takes of the first find the given part of what they were granted. */
  function race(found: number, [first, second]: readonly [Partial<Lane>, Partial<Lane>]) {
    const selector = new LaneSelector({ priorityWeights: () => ({ 1: 1, 2: 1, 3: 1 }) })
    const partlyFound = offer(first)
    const offers = [partlyFound, offer(second)]
    const got = { partly: 0, fully: 0 }
    for (let round = 0; round < 1_000; round++) {
      for (const { lane, count } of selector.select(offers, 10)) {
        const isPartly = lane === partlyFound.lane
        const taken = isPartly ? Math.floor(count * found) : count
        selector.refund(lane, count - taken)
        got[isPartly ? 'partly' : 'fully'] += taken
      }
    }
    return got
  }

  it('keeps shares of real starts equal when takes find only a part, at every level', () => {
    for (const pair of pairs) {
      for (const found of [0.5, 0.7, 0.9]) {
        const { partly, fully } = race(found, pair)
        expect(Math.abs(partly - fully) / (partly + fully), `${JSON.stringify(pair)} ${found}`).toBeLessThan(0.01)
      }
    }
  })

  it('does not let a lane that never has what it promises starve the others', () => {
    const { partly, fully } = race(0, [{ tenant: 'a' }, { tenant: 'b' }])
    expect(partly).toBe(0)
    expect(fully).toBeGreaterThan(3_000)
  })

  it('is no credit for later: only the next selection honours it', () => {
    const selector = new LaneSelector()
    const both = [offer({ tenant: 'a' }), offer({ tenant: 'b' })]
    selector.select(both, 500)
    selector.refund(lane({ tenant: 'a' }), 250)
    selector.select([offer({ tenant: 'b' })], 100)
    expect(startsOf('a', selector.select(both, 100))).toBeLessThanOrEqual(52)
  })

  it('of more than was charged gives no advantage beyond the last selection', () => {
    const selector = new LaneSelector()
    const both = [offer({ tenant: 'a' }), offer({ tenant: 'b' })]
    selector.select(both, 10)
    selector.refund(lane({ tenant: 'a' }), 1_000_000)
    const first = startsOf('a', selector.select(both, 100))
    expect(first).toBeLessThanOrEqual(54)
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Lane, Priority } from './lane.js'
import { laneKey } from './lane.js'
import { LaneSelector } from './selection.js'
import { lane, offer, total, trail, windowRange } from './testing/lanes.js'

function expectShare(names: readonly string[], label: string, share: number): void {
  const { least, most } = windowRange(names, label, 1_000)
  expect(least, `${label} at least`).toBeGreaterThanOrEqual(1_000 * share * 0.95)
  expect(most, `${label} at most`).toBeLessThanOrEqual(1_000 * share * 1.05)
}

const priorityOf = ({ priority }: Lane) => String(priority)

describe('what a selection gives', () => {
  const lanes = fc.record({
    queue: fc.constantFrom('q1', 'q2'),
    priority: fc.constantFrom<Priority>(1, 2, 3),
    tenant: fc.constantFrom('t1', 't2', 't3'),
    gate: fc.constantFrom('', 'type', '!suspect'),
  })
  const rounds = fc.array(
    fc.record({
      offers: fc.array(fc.record({ lane: lanes, available: fc.nat(20) }), { maxLength: 20 }),
      slots: fc.nat(60),
      unused: fc.nat(30),
    }),
    { maxLength: 12 },
  )

  it('fills the slots, never takes more than a lane has, and names each lane once', () => {
    fc.assert(
      fc.property(rounds, fc.boolean(), (script, strict) => {
        const selector = new LaneSelector(strict ? { priorityWeights: () => 'strict' } : {})
        for (const { offers, slots, unused } of script) {
          const grants = selector.select(offers, slots)
          const has = new Map<string, number>()
          for (const { lane, available } of offers) has.set(laneKey(lane), (has.get(laneKey(lane)) ?? 0) + available)
          expect(total(grants)).toBe(
            Math.min(
              slots,
              [...has.values()].reduce((sum, count) => sum + count, 0),
            ),
          )
          expect(new Set(grants.map((grant) => laneKey(grant.lane))).size).toBe(grants.length)
          for (const { lane, count } of grants) {
            expect(count).toBeGreaterThan(0)
            expect(count).toBeLessThanOrEqual(has.get(laneKey(lane)) ?? 0)
          }
          const [first] = grants
          if (first !== undefined) selector.refund(first.lane, unused)
        }
      }),
    )
  })

  it('is the same for the same calls', () => {
    fc.assert(
      fc.property(rounds, (script) => {
        const run = () => {
          const selector = new LaneSelector()
          return script.map(({ offers, slots }) => selector.select(offers, slots))
        }
        expect(run()).toEqual(run())
      }),
    )
  })

  it('gives nothing for nothing', () => {
    const selector = new LaneSelector()
    expect(selector.select([], 5)).toEqual([])
    expect(selector.select([offer({})], 0)).toEqual([])
    expect(selector.select([offer({}, 0), offer({}, -3), offer({}, Number.NaN)], 5)).toEqual([])
    selector.refund(lane({ tenant: 'never seen' }), 3)
  })
})

describe('shares', () => {
  it('of tenants follow their weights over any 1,000 starts', () => {
    const selector = new LaneSelector({ tenantWeight: (tenant) => (tenant === 'large' ? 10 : 1) })
    const names = trail(selector, [offer({ tenant: 'small' }), offer({ tenant: 'large' })], 5_000)
    expectShare(names, 'large', 10 / 11)
    expectShare(names, 'small', 1 / 11)
  })

  it('of priorities are 70 / 25 / 5 over any 1,000 starts', () => {
    const names = trail(
      new LaneSelector(),
      [offer({ priority: 3 }), offer({ priority: 1 }), offer({ priority: 2 })],
      5_000,
      priorityOf,
    )
    expectShare(names, '1', 0.7)
    expectShare(names, '2', 0.25)
    expectShare(names, '3', 0.05)
  })

  it('of a priority without work go to the others by their weights', () => {
    const names = trail(new LaneSelector(), [offer({ priority: 1 }), offer({ priority: 3 })], 5_000, priorityOf)
    expectShare(names, '1', 70 / 75)
    expectShare(names, '3', 5 / 75)
  })

  it('stray by fewer starts than there are tenants, for any weights and any sizes of selections', () => {
    const weights = fc.array(fc.double({ min: 0.5, max: 100, noNaN: true }), { minLength: 2, maxLength: 6 })
    const sizes = fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 5, maxLength: 40 })
    fc.assert(
      fc.property(weights, sizes, (drawn, slots) => {
        const selector = new LaneSelector({ tenantWeight: (tenant) => drawn[Number(tenant)] ?? 1 })
        const offers = drawn.map((_, index) => offer({ tenant: String(index) }))
        const sum = drawn.reduce((a, b) => a + b, 0)
        const got = drawn.map(() => 0)
        let all = 0
        for (const size of slots) {
          all += size
          for (const { lane, count } of selector.select(offers, size)) {
            got[Number(lane.tenant)] = (got[Number(lane.tenant)] ?? 0) + count
          }
          for (const [index, weight] of drawn.entries()) {
            expect(Math.abs((got[index] ?? 0) - (all * weight) / sum)).toBeLessThan(drawn.length)
          }
        }
      }),
    )
  })

  it('of queues and of the gates of a tenant are equal, however many lanes each has', () => {
    const offers = [offer({ queue: 'one' })]
    for (let n = 0; n < 9; n++) offers.push(offer({ queue: 'many', tenant: `t${n}` }))
    expectShare(
      trail(new LaneSelector(), offers, 3_000, ({ queue }) => queue),
      'one',
      0.5,
    )
    const gated = [offer({ gate: '' }), offer({ gate: 'email' }), offer({ gate: '!suspect' }), offer({ tenant: 'u' })]
    const names = trail(new LaneSelector(), gated, 6_000, ({ tenant, gate }) => `${tenant}${gate}`)
    expectShare(names, 'u', 0.5)
    for (const gate of ['', 'email', '!suspect']) expectShare(names, `t${gate}`, 1 / 6)
  })

  it('obey a new weight at once', () => {
    let weight = 1
    const selector = new LaneSelector({ tenantWeight: (tenant) => (tenant === 'a' ? weight : 1) })
    const offers = [offer({ tenant: 'a' }), offer({ tenant: 'b' })]
    expectShare(trail(selector, offers, 2_000), 'a', 1 / 2)
    weight = 4
    expectShare(trail(selector, offers, 2_000), 'a', 4 / 5)
  })

  it('never end with a weight that is no weight', () => {
    for (const bad of [0, -1, Number.NaN]) {
      const selector = new LaneSelector({ tenantWeight: (tenant) => (tenant === 'bad' ? bad : 1) })
      const names = trail(selector, [offer({ tenant: 'bad' }), offer({ tenant: 'good' })], 2_500)
      expect(names.filter((tenant) => tenant === 'bad')).toHaveLength(2)
    }
  })
})

describe('strict priority', () => {
  it('serves the most urgent that has work, alone', () => {
    const selector = new LaneSelector({ priorityWeights: () => 'strict' })
    const offers = [offer({ priority: 3 }, 5), offer({ priority: 2 }, 5), offer({ priority: 1 }, 5)]
    const byPriority = (slots: number) =>
      selector.select(offers, slots).map((grant) => [grant.lane.priority, grant.count])
    expect(byPriority(4)).toEqual([[1, 4]])
    expect(byPriority(7)).toEqual([
      [1, 5],
      [2, 2],
    ])
    expect(byPriority(99)).toEqual([
      [1, 5],
      [2, 5],
      [3, 5],
    ])
  })

  it('is a matter of each queue, and can be switched at work', () => {
    let strict = true
    const selector = new LaneSelector({
      priorityWeights: (queue) => (strict && queue === 'q' ? 'strict' : { 1: 1, 2: 1, 3: 2 }),
    })
    const offers = [offer({ priority: 1 }), offer({ priority: 3 }), offer({ queue: 'r', priority: 3 })]
    const name = ({ queue, priority }: Lane) => `${queue}${priority}`
    const first = trail(selector, offers, 2_000, name)
    expectShare(first, 'q1', 0.5)
    expect(first).not.toContain('q3')
    strict = false
    const second = trail(selector, offers, 2_000, name)
    expectShare(second, 'q3', 1 / 3)
  })
})

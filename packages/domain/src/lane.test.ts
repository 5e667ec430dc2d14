import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Lane, laneKey, priorities, priorityCode, priorityName } from './lane.js'
import { isName } from './limits.js'

describe('priorities', () => {
  it('go from code to name and back', () => {
    expect(priorities.map(({ name }) => [priorityCode(name), name])).toEqual([
      [1, 'high'],
      [2, 'medium'],
      [3, 'low'],
    ])
    for (const { code, name } of priorities) expect(priorityName(code)).toBe(name)
  })
})

describe('laneKey', () => {
  const names = fc.string({ unit: fc.constantFrom('a', 'b', '.', ':', '/'), minLength: 1, maxLength: 3 })
  const lanes: fc.Arbitrary<Lane> = fc.record({
    queue: names,
    priority: fc.constantFrom(1, 2, 3),
    tenant: names,
    gate: fc.string({ unit: fc.constantFrom('a', ' ', '!', '\n', ':'), maxLength: 4 }),
  })

  it('is equal for equal lanes only, whatever the gate holds', () => {
    fc.assert(
      fc.property(lanes, lanes, (a, b) => {
        const isSame = a.queue === b.queue && a.priority === b.priority && a.tenant === b.tenant && a.gate === b.gate
        expect(laneKey(a) === laneKey(b)).toBe(isSame)
      }),
      { numRuns: 2_000 },
    )
  })

  it('rests on names having no blank', () => {
    expect(isName('a b')).toBe(false)
  })
})

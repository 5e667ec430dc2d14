import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { recentRate } from './rate.js'

const rate = (startsByMinute: readonly number[], intoMinuteMs: number) => {
  const { starts, windowMs } = recentRate(startsByMinute, intoMinuteMs)
  return [starts, windowMs]
}

describe('the rate of starts', () => {
  it.each([
    ['is that of all minutes of a queue that went all the time', [10, 60, 60, 60, 60, 60], 10_000, [310, 310_000]],
    ['is that of the minute in which it began', [20_000, 0, 0, 0, 0, 0], 15_000, [20_000, 15_000]],
    ['is that since it goes again', [600, 600, 0, 0, 900, 900], 60_000, [1_200, 120_000]],
    ['leaves out the minute in whose last seconds it began', [600, 600, 20, 0, 0, 0], 60_000, [1_200, 120_000]],
    ['takes the minute in which it began while the next is too young', [40, 30, 0, 0, 0, 0], 4_000, [70, 64_000]],
    ['falls while nothing starts', [0, 600, 0, 0, 0, 0], 30_000, [600, 90_000]],
    ['is none when nothing was started', [0, 0, 0, 0, 0, 0], 30_000, [0, 0]],
    ['is none without a minute', [], 0, [0, 0]],
  ])('%s', (_, startsByMinute, intoMinuteMs, expected) => {
    expect(rate(startsByMinute, intoMinuteMs)).toEqual(expected)
  })

  it('is one at which what was counted can have happened, over a time that was looked at', () => {
    const minutes = fc.array(fc.oneof(fc.constant(0), fc.nat(10_000)), { minLength: 1, maxLength: 6 })
    fc.assert(
      fc.property(minutes, fc.integer({ min: 1, max: 60_000 }), (startsByMinute, intoMinuteMs) => {
        const { starts, windowMs } = recentRate(startsByMinute, intoMinuteMs)
        const all = startsByMinute.reduce((sum, each) => sum + each, 0)
        expect(starts).toBeLessThanOrEqual(all)
        expect(starts > 0).toBe(all > 0)
        expect(windowMs).toBeLessThanOrEqual(intoMinuteMs + (startsByMinute.length - 1) * 60_000)
        expect(starts === 0 || windowMs > 0).toBe(true)
      }),
    )
  })
})

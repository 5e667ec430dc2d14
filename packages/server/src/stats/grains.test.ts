import fc from 'fast-check'
import { expect, it } from 'vitest'
import { grains, segmentsOf, settledMs } from './grains.js'

const window = fc.integer({ min: 60_000, max: 7 * 86_400_000 })
const now = fc.integer({ min: 1_700_000_000_000, max: 1_900_000_000_000 })

it('make up the window without a gap or a row too many, whatever is summed up', () => {
  const until = fc.option(fc.integer({ min: -8 * 86_400_000, max: 0 }), { nil: null })
  fc.assert(
    fc.property(window, now, fc.array(until, { minLength: 4, maxLength: 4 }), (windowMs, nowMs, ends) => {
      const summedUntilMs = new Map<number, number>()
      for (const [level, ago] of ends.entries()) {
        const ms = (grains[level + 1]?.seconds ?? 0) * 1_000
        if (ago !== null) summedUntilMs.set(ms / 1_000, Math.floor((nowMs + ago) / ms) * ms)
      }
      const segments = segmentsOf(windowMs, { nowMs, summedUntilMs })
      const firstMs = segments[0]?.fromMs ?? Number.NaN
      expect(firstMs).toBeLessThanOrEqual(nowMs - windowMs)
      expect(nowMs - windowMs - firstMs).toBeLessThan(3_600_000)
      let atMs = firstMs
      for (const { seconds, fromMs, toMs } of segments) {
        expect(fromMs).toBe(atMs)
        expect(fromMs % (seconds * 1_000)).toBe(0)
        if (seconds > 60) expect(toMs).toBeLessThanOrEqual(Math.min(summedUntilMs.get(seconds) ?? 0, nowMs - settledMs))
        atMs = toMs
      }
      expect(atMs).toBeGreaterThan(nowMs)
      expect(atMs - nowMs).toBeLessThanOrEqual(60_000)
    }),
    { numRuns: 50 },
  )
})

it('are few when all that is past is summed up, and read no row that may be gone', () => {
  fc.assert(
    fc.property(window, now, (windowMs, nowMs) => {
      const summedUntilMs = new Map(
        grains.map(({ seconds }) => [seconds, Math.floor(nowMs / (seconds * 1_000)) * seconds * 1_000]),
      )
      const segments = segmentsOf(windowMs, { nowMs, summedUntilMs })
      const rows = segments.reduce((sum, { seconds, fromMs, toMs }) => sum + (toMs - fromMs) / (seconds * 1_000), 0)
      expect(rows).toBeLessThanOrEqual(40)
      for (const { seconds, fromMs } of segments) {
        const grain = grains.find((each) => each.seconds === seconds)
        expect(nowMs - fromMs).toBeLessThan(grain?.keepMs ?? 0)
      }
    }),
    { numRuns: 200 },
  )
})

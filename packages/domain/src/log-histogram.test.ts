import fc from 'fast-check'
import { expect, it } from 'vitest'
import { histogramRelativeError, LogHistogram } from './log-histogram.js'

const durations = fc.array(fc.double({ min: 0, max: 3e9, noNaN: true }), { minLength: 1, maxLength: 300 })
const of = (values: readonly number[]): LogHistogram => {
  const histogram = new LogHistogram()
  for (const value of values) histogram.add(value)
  return histogram
}

it('tells quantiles within its relative error, by nearest rank', () => {
  expect(histogramRelativeError).toBeCloseTo(0.0905, 4)
  fc.assert(
    fc.property(durations, fc.double({ min: 0, max: 1, noNaN: true }), (values, q) => {
      const sorted = [...values].sort((a, b) => a - b)
      const exact = Math.max(1, sorted[Math.max(1, Math.ceil(q * sorted.length)) - 1] ?? 0)
      const told = of(values).quantile(q) ?? Number.NaN
      expect(Math.abs(told - exact) / exact).toBeLessThanOrEqual(histogramRelativeError + 1e-9)
    }),
  )
})

it('is the same after a way over bytes, alone or as the sum of several', () => {
  fc.assert(
    fc.property(fc.array(durations, { maxLength: 5 }), (parts) => {
      const sum = new LogHistogram()
      sum.addEncoded(Buffer.concat(parts.map((values) => of(values).encode())))
      const whole = of(parts.flat())
      expect(sum.total).toBe(whole.total)
      expect(sum.encode()).toEqual(whole.encode())
    }),
  )
})

it('keeps large counts, and takes what no clock should tell', () => {
  const histogram = new LogHistogram()
  for (const count of [127, 128, 16_384]) for (let n = 0; n < count; n++) histogram.add(count)
  const bytes = histogram.encode()
  const sum = new LogHistogram()
  for (let n = 0; n < 1_000_000; n++) if (n % 100 === 0) sum.addEncoded(bytes)
  expect(sum.total).toBe(10_000 * (127 + 128 + 16_384))
  const twice = new LogHistogram()
  twice.addEncoded(sum.encode())
  expect(twice.total).toBe(sum.total)
  expect(new LogHistogram().quantile(0.5)).toBeNull()
  expect(of([-5, Number.NaN, 0]).quantile(1)).toBe(1)
  expect(of([Number.POSITIVE_INFINITY]).quantile(1)).toBeGreaterThan(41 * 86_400_000 * 0.9)
})

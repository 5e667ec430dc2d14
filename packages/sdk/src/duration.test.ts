import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type Duration, toMs, toSeconds } from './duration.js'

it('reads numbers as milliseconds and texts by their unit', () => {
  const examples: [Duration, number][] = [
    [1_500, 1_500],
    [0, 0],
    ['500ms', 500],
    ['30s', 30_000],
    ['1.5m', 90_000],
    ['24h', 86_400_000],
    ['7d', 604_800_000],
  ]
  for (const [duration, ms] of examples) expect(toMs(duration)).toBe(ms)
  expect(toSeconds('1500ms')).toBe(1.5)
})

it('refuses everything else', () => {
  for (const wrong of [-1, Number.NaN, Number.POSITIVE_INFINITY, '', '5', '5 s', '-5s', '5sec', 's', '1e3s', '٣s']) {
    expect(() => toMs(wrong as Duration)).toThrow(RangeError)
  }
})

it('agrees with itself over the units', () => {
  fc.assert(
    fc.property(fc.nat(10_000), (n) => {
      expect(toMs(`${n}h`)).toBe(toMs(`${n * 60}m`))
      expect(toMs(`${n}s`)).toBe(toMs(`${n * 1_000}ms`))
    }),
  )
})

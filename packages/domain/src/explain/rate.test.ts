import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type MinuteStarts, recentRate } from './rate.js'

/** Minutes of which nothing but a number was written down. */
const bare = (starts: number): MinuteStarts => ({ starts, firstMs: null, untilMs: null })
/** Minutes as nodes write them. */
const told = (starts: number, firstMs: number, untilMs = 60_000): MinuteStarts => ({ starts, firstMs, untilMs })
const none = bare(0)

describe('the rate of starts', () => {
  it.each<[string, readonly MinuteStarts[], number, readonly [number, number]]>([
    ['is that of all minutes of a queue that went all the time', [10, 60, 60, 60].map(bare), 10_000, [190, 190_000]],
    ['is that since its first start', [told(250, 2_000, 7_000), none, none], 7_000, [250, 5_000]],
    ['is that since it goes again', [bare(600), told(600, 10_000), none, bare(900)], 60_000, [1_200, 110_000]],
    ['has nothing of the time that is not counted yet', [told(200, 2_000, 6_000), none], 10_000, [200, 4_000]],
    ['… across a minute', [none, told(200, 56_000, 59_000)], 1_000, [200, 3_000]],
    ['falls while nothing starts', [none, told(600, 0)], 30_000, [600, 90_000]],
    ['falls while nothing starts in the minute under way', [told(600, 0, 10_000), none], 30_000, [600, 30_000]],
    ['is none in the first second', [told(50, 59_500, 60_000), none], 60_000, [0, 0]],
    ['is none when nothing was started', [none, none], 30_000, [0, 0]],
    ['is none without a minute', [], 0, [0, 0]],
  ])('%s', (_, minutes, intoMinuteMs, [starts, windowMs]) => {
    expect(recentRate(minutes, intoMinuteMs)).toEqual({ starts, windowMs })
  })

  it('is near to that of a steady queue, whenever it began and whenever it is looked at', () => {
    const life = fc.record({
      perSecond: fc.integer({ min: 5, max: 5_000 }),
      beganMs: fc.integer({ min: 0, max: 299_000 }),
      lateMs: fc.integer({ min: 0, max: 5_000 }),
      nowMs: fc.integer({ min: 300_000, max: 359_999 }),
    })
    fc.assert(
      fc.property(life, ({ perSecond, beganMs, lateMs, nowMs }) => {
        const countedMs = nowMs - lateMs
        fc.pre(countedMs - beganMs > 2_000)
        const minutes = Array.from({ length: 6 }, (_, ago): MinuteStarts => {
          const startMs = (5 - ago) * 60_000
          const [from, until] = [Math.max(beganMs, startMs), Math.min(countedMs, startMs + 60_000)]
          const starts = until <= from ? 0 : Math.ceil((perSecond * (until - from)) / 1_000)
          return starts === 0 ? none : told(starts, from - startMs, until - startMs)
        })
        const { starts, windowMs } = recentRate(minutes, nowMs % 60_000)
        expect(starts / (windowMs / 1_000)).toBeGreaterThan(perSecond * 0.9)
        expect(starts / (windowMs / 1_000)).toBeLessThan(perSecond * 1.7)
      }),
    )
  })

  it('is one at which what was counted can have happened, over a time that was looked at', () => {
    const minute = fc.record({
      starts: fc.oneof(fc.constant(0), fc.nat(10_000)),
      firstMs: fc.option(fc.nat(60_000)),
      untilMs: fc.option(fc.nat(60_000)),
    })
    fc.assert(
      fc.property(
        fc.array(minute, { minLength: 1, maxLength: 6 }),
        fc.integer({ min: 1, max: 60_000 }),
        (minutes, intoMinuteMs) => {
          const { starts, windowMs } = recentRate(minutes, intoMinuteMs)
          expect(starts).toBeLessThanOrEqual(minutes.reduce((sum, each) => sum + each.starts, 0))
          expect(windowMs).toBeLessThanOrEqual(intoMinuteMs + (minutes.length - 1) * 60_000)
          expect(starts > 0).toBe(windowMs > 0)
        },
      ),
    )
  })
})

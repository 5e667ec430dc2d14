import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { GrantLog } from './grant-log.js'

describe('a log of grants', () => {
  it('has a gap as long as a number below the highest seen is missing, in whatever order they come', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 1, max: 30 }), { maxLength: 30 }), (numbers) => {
        const log = new GrantLog(0)
        const seen = new Set<number>()
        for (const number of numbers) {
          log.add(number)
          seen.add(number)
          const highest = Math.max(...seen)
          expect(log.hasGap()).toBe(seen.size < highest)
        }
      }),
    )
  })

  it('has a gap below what the store says was given last', () => {
    const log = new GrantLog(3)
    expect(log.hasGap(3)).toBe(false)
    expect(log.hasGap(4)).toBe(true)
    log.add(4)
    expect(log.hasGap(4)).toBe(false)
  })

  it('takes numbers that are known already for nothing new', () => {
    const log = new GrantLog(5)
    log.add(2)
    log.add(5)
    expect(log.hasGap()).toBe(false)
  })

  it('has no gap up to a number that is accounted for, and none above it that has come since', () => {
    const log = new GrantLog(0)
    for (const number of [2, 5, 6, 8]) log.add(number)
    expect(log.highest).toBe(8)
    log.known(4)
    expect([log.contiguous, log.hasGap()]).toEqual([6, true])
    log.known(8)
    expect([log.contiguous, log.hasGap(8), log.hasGap(9)]).toEqual([8, false, true])
    log.known(3)
    expect(log.contiguous).toBe(8)
  })

  it('remembers the highest number that was sent, until the store holds nothing above another', () => {
    const log = new GrantLog(4)
    expect(log.highestSent).toBe(4)
    log.sent(6)
    log.sent(5)
    expect(log.highestSent).toBe(6)
    log.nothingAbove(5)
    expect(log.highestSent).toBe(5)
  })
})

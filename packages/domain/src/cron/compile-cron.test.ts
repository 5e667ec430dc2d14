import { describe, expect, it } from 'vitest'
import { compileCron } from './compile-cron.js'
import { RecentMap } from './recent-map.js'

describe('compileCron', () => {
  it('gives one evaluator to all who ask for the same', () => {
    const first = compileCron('0 9 * * 1-5', 'Europe/Paris')
    expect(compileCron('0 9 * * 1-5', 'Europe/Paris')).toBe(first)
    expect(compileCron('0 9 * * 1-5', 'Europe/Berlin')).not.toBe(first)
  })

  it('checks the zone also when the expression is known, and the expression first', () => {
    expect(() => compileCron('0 9 * * 1-5', 'Mars/Phobos')).toThrow(/"Mars\/Phobos" is not a time zone/)
    expect(() => compileCron('nonsense', 'UTC')).toThrow(/1 field;/)
  })
})

describe('RecentMap', () => {
  it('forgets what was not used for the longest time', () => {
    const map = new RecentMap<number>(2)
    map.set('a', 1)
    map.set('b', 2)
    expect(map.get('a')).toBe(1)
    map.set('c', 3)
    expect([map.get('a'), map.get('b'), map.get('c'), map.size]).toEqual([1, undefined, 3, 2])
  })

  it('never holds more than its capacity', () => {
    const map = new RecentMap<number>(10)
    for (let index = 0; index < 1_000; index++) map.set(String(index % 37), index)
    expect(map.size).toBe(10)
  })
})

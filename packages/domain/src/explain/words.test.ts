import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { count, errorText, lengthOf, many, percent, workerText } from './words.js'

describe('a length of time', () => {
  it.each([
    [-5, '0 ms'],
    [0, '0 ms'],
    [999.4, '999 ms'],
    [1_000, '1 s'],
    [59_999, '59 s'],
    [60_000, '1 min'],
    [61_000, '1 min 1 s'],
    [3_600_000, '1 h'],
    [11_549_000, '3 h 12 min'],
    [90_000_000, '1 d 1 h'],
  ])('of %s ms is %s', (ms, text) => {
    expect(lengthOf(ms)).toBe(text)
  })

  it('is short, whatever it is', () => {
    fc.assert(fc.property(fc.double({ noNaN: true, max: 1e14 }), (ms) => lengthOf(ms).length < 20))
  })
})

it('groups digits, counts words and says shares', () => {
  expect([count(0), count(999), count(14_200), count(1_000_000)]).toEqual(['0', '999', '14,200', '1,000,000'])
  expect([many(1, 'slot'), many(1_200, 'slot')]).toEqual(['1 slot', '1,200 slots'])
  expect([percent(0), percent(0.001), percent(0.704), percent(1)]).toEqual(['0 %', '1 %', '70 %', '100 %'])
  expect(workerText(null, null)).toBe('a worker')
})

it('puts an error on one line and cuts it, never through a character', () => {
  expect(errorText({ class: 'A', message: 'b\n\tc' })).toBe('A: b c')
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 600 }), (message) => {
      const text = errorText({ class: 'A', message })
      expect([...text].length).toBeLessThanOrEqual(200)
      expect(text).not.toMatch(/[\n\r\t]/)
      expect(Buffer.from(text).toString()).toBe(text)
    }),
  )
})
